"""How mLongRR's figures are drawn."""

from __future__ import annotations

FACTORS = {}
