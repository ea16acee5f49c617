"""M4LE (Kwan et al., arXiv:2310.19240)."""
