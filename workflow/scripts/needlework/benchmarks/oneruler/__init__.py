"""ONERULER (Kim et al., arXiv:2503.01996)."""
