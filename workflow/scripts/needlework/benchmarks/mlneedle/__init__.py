"""Multilingual Needle in a Haystack (Hengle et al., 2024)."""
