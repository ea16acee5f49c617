"""Whether a server read the whole of each prompt: the tokens that it counted, beside our own.

A server may cut a prompt and answer all the same, and say so only in `prompt_tokens`. Tokenizers differ, so
a count is compared with those of the same model's prompts of the same kind (task and languages).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

# Equal counts of the server's for prompts whose own counts differ by more than this share: a limit.
SPREAD = 0.1
# A ratio below this share of the usual one: the prompt was cut.
SHARE = 0.5
# A usual ratio below this is odd: honest tokenizers differ by so much in few languages.
ODD = 0.5
# Of shorter prompts, the chat template's tokens are a large part.
SHORT = 200
# Two prompts may have one count by chance; a limit gives it to at least this share of all, or is the largest.
_CROWD = 0.05
# No server has a context so short: a count below is no count.
LEAST = 16
# The largest count, of prompts to so many questions, is no chance either if it is well below our own:
# texts that our tokenizer counts alike have different counts with any other.
_FLAT = 3


class Read(NamedTuple):
    """A prompt that was answered: its kind, our own count of its tokens, the server's, and its question."""

    kind: str
    own: int
    counted: int
    question: str


def cut_prompts(prompts: Sequence[Read]) -> dict[int, str]:
    """The prompts that the server cut, by their places, each with both numbers in words."""
    usual = _usual(prompts)
    limited = _limited(prompts)
    found = {}
    for place, prompt in enumerate(prompts):
        ratio, expected = _ratio(prompt), usual.get(prompt.kind)
        long = prompt.own >= SHORT and prompt.counted >= LEAST
        low = expected is not None and long and ratio < SHARE * expected
        if place in limited or low:
            found[place] = (
                f"the endpoint read {prompt.counted} of {prompt.own} tokens (ours, by the model's "
                "`tokenizer`): it cut the prompt"
            )
    return found


def odd_prompts(prompts: Sequence[Read]) -> dict[int, str]:
    """The prompts whose counts are odd, though a tokenizer may explain them; each with both numbers."""
    usual = _usual(prompts)
    return {
        place: f"the endpoint counted {prompt.counted} tokens, our tokenizer {prompt.own}"
        for place, prompt in enumerate(prompts)
        if prompt.own >= SHORT and usual.get(prompt.kind, 1.0) < ODD
    }


def _ratio(prompt: Read) -> float:
    return prompt.counted / max(1, prompt.own)


def _usual(prompts: Iterable[Read]) -> dict[str, float]:
    """The usual ratio by kind: the median of the longer prompts, or of all where there are none."""
    ratios: dict[str, list[float]] = defaultdict(list)
    for prompt in prompts:
        if prompt.own >= SHORT:
            ratios[prompt.kind].append(_ratio(prompt))
    # With as many cut prompts as whole ones, the median would be a cut one's.
    return {kind: median(sorted(own)[len(own) // 4 :]) for kind, own in ratios.items()}


def _limited(prompts: Sequence[Read]) -> set[int]:
    """The places of prompts whose count is a limit of the server's."""
    places: dict[int, list[int]] = defaultdict(list)
    for place, prompt in enumerate(prompts):
        if prompt.counted >= LEAST:
            places[prompt.counted].append(place)
    largest = max(places, default=0)
    found: set[int] = set()
    for counted, same in places.items():
        own = [prompts[place].own for place in same]
        least, most = min(own), max(own)
        crowd = len(same) >= max(3, _CROWD * len(prompts))
        if (counted == largest or crowd) and most > (1 + SPREAD) * least:
            # The shortest of them may have been read whole.
            found |= {p for p in same if prompts[p].own > (1 + SPREAD) * least}
            found |= {p for p in same if prompts[p].counted < (1 - SPREAD) * prompts[p].own}
        elif counted == largest and counted < (1 - SPREAD) * least and least >= SHORT:
            questions = {prompts[place].question for place in same}
            found |= set(same) if len(questions) >= _FLAT else set()
    return found
