"""mLongRR's tables and figures."""

from __future__ import annotations

RESULTS = ()
