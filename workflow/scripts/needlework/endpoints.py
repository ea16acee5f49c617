"""What all that speaks to a service over HTTP shares: its URL and key, when to ask again, what to show.

The standard library alone: Snakemake's own process checks URLs and keys, and it has no more.
"""

from __future__ import annotations

import email.utils
import os
from datetime import UTC, datetime
from urllib.parse import urlsplit

from needlework.errors import UserError

# Statuses after which another attempt may help, beside all from 500.
_TRANSIENT = {408, 425, 429}


def api_key(variable: str, who: str) -> str:
    """The key in the environment variable. Raises UserError where there is none, or no sound one."""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UserError(f"{who} needs an API key: set the environment variable {variable}.")
    if not (key.isascii() and key.isprintable()):
        raise UserError(
            f"the environment variable {variable} (the API key of {who}) holds characters that no "
            "key has: set it again."
        )
    return key


def check_url(url: str, who: str) -> None:
    """Raise UserError unless `url` is a whole http(s) URL."""
    try:
        parts = urlsplit(url)
        # A port that is no number raises ValueError when it is read.
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound:
        raise UserError(f"{who} has a `base_url` that is no http(s) URL: correct it.")


def shown_url(url: str) -> str:
    """The URL without what may be secret: user, password and query."""
    parts = urlsplit(url)
    host = parts.hostname if parts.port is None else f"{parts.hostname}:{parts.port}"
    return f"{parts.scheme}://{host}{parts.path}"


def excerpt(text: str, secret: str) -> str:
    """The beginning of a text that a server wrote, made harmless and without the secret."""
    if secret:
        text = text.replace(secret, "***")
    text = "".join(c if c.isprintable() else " " for c in text[:2000])
    return " ".join(text.split())[:200]


def may_pass(status: int) -> bool:
    """Whether another attempt may help after this status."""
    return status in _TRANSIENT or status >= 500


def seconds(retry_after: str) -> float:
    """The seconds that a Retry-After header asks for, which it gives as such or as a date."""
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        date = email.utils.parsedate_to_datetime(retry_after)
    except (TypeError, ValueError):
        return 0.0
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
