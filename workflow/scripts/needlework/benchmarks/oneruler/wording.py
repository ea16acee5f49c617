"""How a language says that there is no such number: data, which `oneruler_none` reads."""

from __future__ import annotations

from typing import NamedTuple


class Wording(NamedTuple):
    """The ways to say "there is no such number" in a language (or in one of its alphabets).

    Each field is a list of phrases, separated by semicolons. `number` is what may be missing, `such` what
    may stand before it. A phrase of `alone` counts where it stands by itself: as the answer, a sentence
    or a line, in quotation marks, or behind a colon. One of `said` counts wherever its words stand. In
    phrases,

    - `*` is any ending of a word,
    - `#` a `number`, with any of `such` before it,
    - `…` anything within a sentence, but not much,
    - `~` a few words up to the next comma, or none,
    - `^` the beginning of a sentence, `.` its end or a comma,
    - `(a |b )?` one or the other, or neither, as in regular expressions.
    """

    number: str
    such: str
    alone: str
    said: str
