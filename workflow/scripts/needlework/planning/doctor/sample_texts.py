"""Texts of the sample as the doctor's prompts have them, by which a server's tokens are measured."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterable
from itertools import islice

from needlework.data.words import WORD
from needlework.planning.layout import ROOT

_SAMPLE = ROOT / "resources/sample"
# The languages of the sample's ONERULER, and of its questions and passages.
HIDDEN = ("en", "fa", "hi", "ko", "ru", "sw", "zh")
ASKED = ("ar", "de", "en", "es", "hi", "vi", "zh")


def base() -> str:
    """The prompt of copying, without pairs."""
    path = ROOT / "resources/prompts/lost_in_the_middle/pairs.txt"
    return path.read_text(encoding="utf-8").replace("{key}", str(uuid.UUID(int=0)))


def some_pairs(n: int = 8) -> tuple[int, str]:
    """Pairs as the prompts have them, and their number."""
    draw = random.Random(n)
    names = [str(uuid.UUID(int=draw.getrandbits(128), version=4)) for _ in range(2 * n)]
    return n, "".join(f'"{k}": "{v}",\n ' for k, v in zip(names[::2], names[1::2], strict=True))


def some_words(languages: Iterable[str], n: int = 150) -> dict[str, tuple[int, str]]:
    """The beginning of each language's book or first passages, and its number of words."""
    found = {}
    for lang in languages:
        if lang in HIDDEN:
            text = (_SAMPLE / "oneruler" / lang / "book.txt").read_text(encoding="utf-8")
        else:
            town = json.loads((_SAMPLE / "city.json").read_text(encoding="utf-8"))
            text = " ".join(passage["text"][lang] for passage in town["passages"])
        ends = [match.end() for match in islice(WORD.finditer(text), n)]
        found[lang] = len(ends), text[: ends[-1]]
    return found
