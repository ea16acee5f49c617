"""Multilingual Needle in a Haystack (Hengle et al., arXiv:2408.10151)."""
