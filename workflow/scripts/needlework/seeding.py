"""Randomness seeded from names, so that no draw depends on another.

Adding a language, a length or a core changes no other draw.
"""

from __future__ import annotations

import hashlib

import numpy as np


def _digest(names: tuple[object, ...]) -> bytes:
    # The separator cannot be part of a name's text form that we use, so ("ab", "c") differs from ("a", "bc").
    return hashlib.sha256("\x1f".join(str(name) for name in names).encode()).digest()


def rng(*names: object) -> np.random.Generator:
    """A generator for the draw that `names` identify, the same on every machine."""
    return np.random.Generator(np.random.PCG64(int.from_bytes(_digest(names)[:16], "big")))


def rank_key(*names: object) -> str:
    """A hexadecimal key for sorting candidates: a seeded shuffle in which a candidate's rank never changes.

    The first n of a ranking are a sample of n, and a larger sample contains every smaller one.
    """
    return _digest(names).hex()
