"""The doctor's questions, sized by a server's own tokens, as a configuration of this workflow."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, product
from typing import Any, NamedTuple

from needlework.data.words import WORD
from needlework.errors import UserError
from needlework.planning.doctor.meeting import Tokens
from needlework.planning.layout import ROOT

# The limit of an answer: a UUID has at most 36 tokens.
ANSWER = 80
# The share of the context that the longest prompt takes.
_FILLED = 0.95
# Of all prompts: copying, ONERULER, MLNeedle, second answers.
_SHARES = (0.45, 0.15, 0.15, 0.2)
# The fewest words in which a needle is hidden.
_FEWEST_WORDS = 250
_SAMPLE = ROOT / "resources/sample"
# The languages of the sample's ONERULER, and of its questions and passages.
HIDDEN = ("en", "fa", "hi", "ko", "ru", "sw", "zh")
ASKED = ("ar", "de", "en", "es", "hi", "vi", "zh")
_QUESTIONS = 15
# Passages of the sample have so many words in all.
_MOST_WORDS = 2048


def base() -> str:
    """The prompt of copying, without pairs."""
    path = ROOT / "resources/prompts/lost_in_the_middle/pairs.txt"
    return (
        path.read_text(encoding="utf-8")
        .replace("{pairs}", "{}")
        .replace("{key}", str(uuid.UUID(int=0)))
    )


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


class Sizes(NamedTuple):
    """The sizes of prompts: pairs of copying with their tokens, languages, and words of finding."""

    pairs: Mapping[int, int]
    hidden: Sequence[str]
    hidden_words: Sequence[int]
    asked: Sequence[str]
    asked_words: Sequence[int]
    # The languages that do not fit into the context.
    left_out: Sequence[str]


def sizes(context: int, tokens: Tokens, prompts: int) -> Sizes:
    """The sizes of prompts for a context, in tokens of the server.

    Raises UserError if the context is too short.
    """
    most = _FILLED * context - ANSWER
    if most < tokens.base + 12 * tokens.pair:
        raise UserError(
            f"A context of {context:,} tokens is too short for the doctor's prompts: serve the model with a "
            "longer one, or raise --context."
        )
    lengths = [4.0**power * 1024 for power in range(20)]
    lengths = [*(length for length in lengths if length < 0.75 * most), most]
    if len(lengths) < 3:
        lengths = [most * 2 / 9, most / 2, most]
    counts = [max(5, int((length - tokens.base) / tokens.pair)) for length in lengths]
    # The words of each language that fit; room for the instruction and a longer answer.
    words = {lang: (most - tokens.base - 50) / each for lang, each in tokens.words.items()}
    kept = [lang for lang in words if words[lang] >= _FEWEST_WORDS]
    longest = int(min((words[lang] for lang in kept), default=0)) // 50 * 50
    few = prompts < 60 * max(1, len(kept))
    below = [] if few else [min(1000, longest // 2)]
    shorter = min(longest * 3 // 4, _MOST_WORDS)
    return Sizes(
        {n: round(tokens.base + n * tokens.pair) for n in counts},
        [lang for lang in kept if lang in HIDDEN],
        [*below, longest],
        [lang for lang in kept if lang in ASKED],
        [shorter] if few or shorter < 1000 else [512, shorter],
        [lang for lang in words if lang not in kept],
    )


class Numbers(NamedTuple):
    """How many examples of each kind are asked, and how many of each a second time."""

    copied: int
    hidden: int
    asked: int
    again: int


def _prompts(own: Sizes, n: Numbers) -> tuple[int, int, int, int]:
    """The prompts of copying, ONERULER and MLNeedle, and the second answers."""
    hidden = len(own.hidden) * len(own.hidden_words)
    # Of each question one without other passages.
    asked = len(own.asked) * (1 + len(own.asked_words))
    examples = n.copied * len(own.pairs)
    again = (
        (min(n.again, examples), 5),
        (min(n.again, n.hidden), hidden),
        (min(n.again, n.asked), asked),
    )
    return 5 * examples, hidden * n.hidden, asked * n.asked, sum(a * b for a, b in again)


def numbers(own: Sizes, prompts: int) -> Numbers:
    """The numbers whose prompts are nearest to the shares of `prompts`, and not more.

    Raises UserError if there are too few.
    """
    wanted = [share * prompts for share in _SHARES]
    one = _prompts(own, Numbers(1, 1, 1, 2))
    # The sample has few questions, so further prompts are ONERULER's.
    wanted[1] += max(0, wanted[2] - one[2] * _QUESTIONS)
    most = [1 + round(own) // max(1, each) for own, each in zip(wanted[:3], one, strict=False)]
    most[2] = min(most[2], _QUESTIONS)
    near = [sorted({1, n // 2, n - 2, n - 1, n} - {0, -1}) for n in most]
    ways = (Numbers(*way) for way in product(*near, range(2, 3 + prompts // 20)))
    best = min(
        (way for way in ways if sum(_prompts(own, way)) <= prompts),
        key=lambda way: sum((a - b) ** 2 for a, b in zip(_prompts(own, way), wanted, strict=True)),
        default=None,
    )
    if best is None:
        least = sum(_prompts(own, Numbers(1, 1, 1, 2)))
        raise UserError(
            f"--prompts {prompts} is too few for these languages and lengths: give {least} or more, or fewer "
            "--languages."
        )
    return best


def asked(own: Sizes, n: Numbers, tokens: Tokens) -> tuple[int, int]:
    """The prompts of a server and about how many tokens they have."""
    found = _prompts(own, n)
    each = [
        sum(own.pairs.values()) / len(own.pairs),
        _mean(own.hidden_words) * _mean([tokens.words[lang] for lang in own.hidden]),
        _mean([0, *own.asked_words]) * _mean([tokens.words[lang] for lang in own.asked])
        + tokens.base,
    ]
    first = sum(a * b for a, b in zip(found, each, strict=False))
    again = found[3] * first / max(1, sum(found[:3]))
    return sum(found), round(first + again)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


def benchmarks(own: Sizes, n: Numbers) -> dict[str, dict[str, Any]]:
    """The blocks of the benchmarks that are asked."""
    places = [
        {"n": count, "indices": [0, *(count * quarter // 4 for quarter in (1, 2, 3)), count - 1]}
        for count in own.pairs
    ]
    found: dict[str, dict[str, Any]] = {
        "lost_in_the_middle": {
            **{"needles": "sample_questions", "source": "constructed", "tasks": ["key_value"]},
            **{"keys": ["uuid"], "n_pairs": places, "query_aware_pairs": []},
            **{"examples": n.copied, "max_new_tokens": ANSWER},
        }
    }
    if own.hidden:
        found["oneruler"] = {
            **{"data": "sample", "languages": [*own.hidden], "cross_lingual": []},
            **{"tasks": ["niah_single"], "none_option": [True]},
            **{"lengths": [*own.hidden_words], "examples": n.hidden},
        }
    if own.asked:
        mixed = len(own.asked) > 1
        found["mlneedle"] = {
            **{"needles": "sample_questions", "haystack": "sample_passages", "aligned": True},
            # One haystack of all languages has fewer prompts than one of each.
            "haystack_languages": ["multilingual"] if mixed else [*own.asked],
            **{"needle_languages": [*own.asked], "multilingual": [*own.asked]},
            **{"question_lang": own.asked[0], "questions": n.asked, "retrieval": ["random"]},
            **{"tasks": ["exact"], "positions": ["middle"], "lengths": [*own.asked_words]},
        }
    return found
