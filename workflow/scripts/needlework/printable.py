"""Text of servers, logs and data, made harmless before a terminal or a log file shows it.

Such text may hold escape sequences that rewrite a terminal, marks that reverse the direction of the text
after them, and the user's own keys.
"""

from __future__ import annotations

import re

# The beginnings that services give to their keys; PEM files; bearer tokens; JSON web tokens; logins.
SECRET = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"sk-(?=[A-Za-z0-9_-]*[0-9])[A-Za-z0-9_-]{16,}|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}"
    r"|hf_[A-Za-z0-9]{20,}|gsk_[A-Za-z0-9]{20,}|xai-[A-Za-z0-9]{20,}|nvapi-[A-Za-z0-9_-]{20,}"
    r"|r8_[A-Za-z0-9]{20,}|pplx-[A-Za-z0-9]{20,}|fw_[A-Za-z0-9]{20,}|AIza[A-Za-z0-9_-]{30,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}|gh[opsur]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"
    r"|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+"
    r"|[Bb]earer +[A-Za-z0-9._~+/-]{8,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----)"
    r"|(?<=://)[^\s/?#@:\"']*:[^\s/?#@\"']+@"
)


def printable(text: str, *, lines: bool = True) -> str:
    """A text with keys masked and characters escaped that do not print; `lines` keeps line ends."""
    masked = SECRET.sub("***", text)
    if masked.isascii() and masked.isprintable():
        return masked
    return "".join(
        c if c.isprintable() or (lines and c in "\n\t") else repr(c)[1:-1] for c in masked
    )
