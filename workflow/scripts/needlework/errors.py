"""The one exception whose message is written for the user."""

from __future__ import annotations


class UserError(Exception):
    """Something the user can put right. The message names the file or key, and the remedy."""
