"""The one exception whose message is written for the user."""

from __future__ import annotations

from needlework.installed import SET_UP


class UserError(Exception):
    """An error that the user can correct. The message names the file or key, and the remedy."""


def not_installed(where: str, error: ImportError) -> UserError:
    """The error to raise if a package that `SET_UP` installs is missing; `where` is the key."""
    return UserError(f"{where}: the package {error.name!r} is not installed: {SET_UP}.")


def reason(error: Exception) -> str:
    """The first line with content of another library's error."""
    details = getattr(error, "errors", None)
    text = details()[0]["msg"] if callable(details) else str(error)
    lines = text.strip().splitlines() or [type(error).__name__]
    return lines[0].removeprefix("Value error, ").rstrip(".:")[:300]
