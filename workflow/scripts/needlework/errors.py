"""The one exception whose message is written for the user."""

from __future__ import annotations


class UserError(Exception):
    """Something the user can put right. The message names the file or key, and the remedy."""


def not_installed(where: str, error: ImportError) -> UserError:
    """What to raise where a package is missing that `make setup` installs; `where` is the key."""
    return UserError(
        f"{where}: the package {error.name!r} is not installed; install requirements/all.txt, or run "
        "with --use-conda."
    )
