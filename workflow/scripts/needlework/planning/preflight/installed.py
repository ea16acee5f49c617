"""Whether a package is there."""

from __future__ import annotations

from importlib.util import find_spec


def is_installed(package: str) -> bool:
    """Whether this Python finds a package. The package is not imported, only its parent packages are."""
    try:
        return find_spec(package) is not None
    except ImportError:
        return False
