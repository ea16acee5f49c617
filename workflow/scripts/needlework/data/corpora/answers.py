"""Where an answer stands in its context, up to Unicode's normal forms and the kind and number of spaces."""

from __future__ import annotations

import unicodedata
from itertools import accumulate


class Context:
    """A context in which answers are looked for; it is put into one form when that is first needed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._form = ""
        self._starts: list[int] = []

    def find(self, answer: str) -> tuple[int, int] | None:
        """The first place of an answer, as (start, end) in the context; None if it is not there."""
        if (start := self.text.find(answer)) >= 0:
            return start, start + len(answer)
        wanted = "".join(_form(part) for part in _clusters(" ".join(answer.split())))
        if not wanted:
            return None
        if not self._starts:
            self._read()
        at = self._form.find(wanted)
        while at >= 0:
            start, end = self._starts[at], self._starts[at + len(wanted)]
            # Both ends are those of whole characters, so not of the half of one.
            if (at == 0 or self._starts[at - 1] < start) and self._starts[
                at + len(wanted) - 1
            ] < end:
                return start, end
            at = self._form.find(wanted, at + 1)
        return None

    def _read(self) -> None:
        """Put the text into one form, in which every character knows where it comes from."""
        parts: list[str] = []
        starts: list[int] = []
        clusters = _clusters(self.text)
        ends = [0, *accumulate(map(len, clusters))]
        for cluster, start in zip(clusters, ends, strict=False):
            form = " " if cluster.isspace() else _form(cluster)
            # A run of spaces is one.
            if form == " " and parts and parts[-1] == " ":
                continue
            parts.append(form)
            starts += [start] * len(form)
        self._form = "".join(parts)
        self._starts = [*starts, len(self.text)]


def _form(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _clusters(text: str) -> list[str]:
    """The text in the shortest pieces whose forms, one after the other, are the form of the whole."""
    pieces: list[str] = []
    for character in text:
        if pieces and not (character.isascii() and pieces[-1].isascii()):
            joined = pieces[-1] + character
            if _form(joined) != _form(pieces[-1]) + _form(character):
                pieces[-1] = joined
                continue
        pieces.append(character)
    return pieces
