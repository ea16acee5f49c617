"""The doctor's questions, sized by a server's own tokens, as a configuration of this workflow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from needlework.errors import UserError
from needlework.planning.doctor.meeting import Tokens
from needlework.planning.doctor.sample_texts import ASKED, HIDDEN

# The limit of an answer: a UUID has at most 36 tokens.
ANSWER = 80
# The share of the context that the longest prompt takes.
_FILLED = 0.95
_COPYING = "lost_in_the_middle"
# The shares of first answers and of second ones among all prompts, and the keys of the numbers of examples.
_SHARES, _AGAIN = {_COPYING: 0.45, "oneruler": 0.2, "mlneedle": 0.15}, 0.2
_NUMBERS = {_COPYING: "examples", "oneruler": "examples", "mlneedle": "questions"}
# The fewest words in which a needle is hidden.
_FEWEST_WORDS = 250
_QUESTIONS = 15
# Passages of the sample have so many words in all.
_MOST_WORDS = 2048


class Questions(NamedTuple):
    """What a server is asked."""

    benchmarks: dict[str, dict[str, Any]]
    # How many questions of each benchmark are asked a second time.
    again: int
    # All requests and about how many tokens their prompts have; the tokens of the longest prompt.
    prompts: int
    tokens: int
    longest: int
    # The languages that do not fit into the context.
    left_out: list[str]


def plan(context: int, tokens: Tokens, prompts: int) -> Questions:
    """At most so many prompts for a context, in tokens of the server, in languages of the sample.

    Raises UserError if the context is too short, or the prompts too few.
    """
    most = _FILLED * context - ANSWER
    if most < tokens.base + 12 * tokens.pair:
        raise UserError(
            f"A context of {context:,} tokens is too short for the doctor's prompts: serve the model with a "
            "longer one, or raise --context."
        )
    # Room for the instruction and a longer answer. The entry's context counts words.
    room = most - tokens.base - 50
    words = {lang: room / max(1.0, each) for lang, each in tokens.words.items()}
    kept = [lang for lang in words if words[lang] >= _FEWEST_WORDS]
    found = _copying(most, tokens)
    if kept:
        fitting = int(min(words[lang] for lang in kept)) // 50 * 50
        found |= _finding(kept, fitting, one_length=prompts < 60 * len(kept))
    counts, again = _numbers(found, prompts)
    for name, count in counts.items():
        found[name][_NUMBERS[name]] = count
    a_word = max((tokens.words[lang] for lang in kept), default=0.0)
    pairs = [tokens.base + entry["n"] * tokens.pair for entry in found[_COPYING]["n_pairs"]]
    size = {
        name: a_word * _mean(block["lengths"]) for name, block in found.items() if name != _COPYING
    }
    size[_COPYING] = _mean(pairs)
    asked = _requests(found, counts, again)
    spent = sum(n * size[name] for name, n in asked.items())
    left_out = [lang for lang in words if lang not in kept]
    return Questions(found, again, sum(asked.values()), round(spent), round(max(pairs)), left_out)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _copying(most: float, tokens: Tokens) -> dict[str, dict[str, Any]]:
    """Pairs of UUIDs in prompts of up to `most` tokens, at least three lengths, at five depths."""
    lengths = [4.0**power * 1024 for power in range(20)]
    lengths = [*(length for length in lengths if length < 0.75 * most), most]
    if len(lengths) < 3:
        lengths = [most * 2 / 9, most / 2, most]
    counts = {max(5, int((length - tokens.base) / tokens.pair)) for length in lengths}
    places = [
        {"n": n, "indices": [0, *(n * quarter // 4 for quarter in (1, 2, 3)), n - 1]}
        for n in sorted(counts)
    ]
    return {
        _COPYING: {
            **{"needles": "sample_questions", "source": "constructed", "tasks": ["key_value"]},
            **{"keys": ["uuid"], "n_pairs": places, "query_aware_pairs": []},
            **{"max_new_tokens": ANSWER},
        }
    }


def _finding(kept: Sequence[str], fitting: int, one_length: bool) -> dict[str, dict[str, Any]]:
    """Needles in texts of up to `fitting` words, in the languages that the sample has for each benchmark."""
    found: dict[str, dict[str, Any]] = {}
    if hidden := [lang for lang in kept if lang in HIDDEN]:
        found["oneruler"] = {
            **{"data": "sample", "languages": hidden, "cross_lingual": []},
            **{"tasks": ["niah_single"], "none_option": [True]},
            **{"lengths": [fitting] if one_length else [min(1000, fitting // 2), fitting]},
        }
    if asked := [lang for lang in kept if lang in ASKED]:
        longest = min(fitting * 3 // 4, _MOST_WORDS)
        found["mlneedle"] = {
            **{"needles": "sample_questions", "haystack": "sample_passages", "aligned": True},
            # One haystack of all languages has fewer prompts than one of each.
            "haystack_languages": ["multilingual"] if len(asked) > 1 else asked[:],
            **{"needle_languages": asked[:], "multilingual": asked[:], "question_lang": asked[0]},
            **{"tasks": ["exact"], "positions": ["middle"], "retrieval": ["random"]},
            **{"lengths": [longest] if one_length or longest < 1000 else [512, longest]},
        }
    return found


def _each(name: str, block: Mapping[str, Any]) -> int:
    """The prompts of a question: a pair at five places; a needle in all languages and lengths."""
    if name == _COPYING:
        return 5
    if name == "oneruler":
        return len(block["languages"]) * len(block["lengths"])
    # And one without other passages.
    return len(block["needle_languages"]) * (1 + len(block["lengths"]))


def _requests(
    blocks: Mapping[str, Mapping[str, Any]], counts: Mapping[str, int], again: int
) -> dict[str, int]:
    """The requests of each benchmark with so many examples: first and second answers."""
    found = {}
    for name, count in counts.items():
        questions = count * (len(blocks[name]["n_pairs"]) if name == _COPYING else 1)
        found[name] = _each(name, blocks[name]) * (questions + min(again, questions))
    return found


def _numbers(blocks: Mapping[str, Mapping[str, Any]], prompts: int) -> tuple[dict[str, int], int]:
    """The examples of each benchmark, and how many questions are asked again.

    They make at most `prompts` requests, as near to the shares as may be.
    """
    one = _requests(blocks, dict.fromkeys(blocks, 1), 0)
    wanted = {name: _SHARES[name] * prompts for name in blocks}
    if (more := wanted.get("mlneedle", 0) - one.get("mlneedle", 0) * _QUESTIONS) > 0:
        # The sample has no further questions of MLNeedle's.
        wanted["mlneedle"] -= more
        wanted[next(name for name in ("oneruler", _COPYING) if name in wanted)] += more
    tries = []
    for name, n in one.items():
        most = max(1, round(wanted[name] / n + 0.49))
        tries.append(sorted({1, most // 2, most - 2, most - 1, most} - {0, -1}))
    best: tuple[float, dict[str, int], int] | None = None
    for *numbers, again in product(*tries, range(2, 3 + prompts // 20)):
        counts = dict(zip(blocks, numbers, strict=True))
        first, both = (_requests(blocks, counts, n) for n in (0, again))
        second = sum(both.values()) - sum(first.values())
        off = sum((first[name] - wanted[name]) ** 2 for name in blocks)
        off += (second - _AGAIN * prompts) ** 2
        if sum(both.values()) <= prompts and (best is None or off < best[0]):
            best = off, counts, again
    if best is None:
        least = sum(_requests(blocks, dict.fromkeys(blocks, 1), 2).values())
        raise UserError(
            f"--prompts {prompts} is too few for these languages and lengths: give {least} or more, or fewer "
            "--languages."
        )
    return best[1:]
