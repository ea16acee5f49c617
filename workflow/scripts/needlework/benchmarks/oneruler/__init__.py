"""ONERULER: 26 languages, five tasks with needles and two of common words (Kim et al., 2025)."""
