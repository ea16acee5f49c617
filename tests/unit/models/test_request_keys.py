"""Keys of requests: equal to those of rendered prompts, whatever a prompt shares with the one before."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.models import requests
from needlework.models.backends.base import Request
from needlework.models.control_tokens import CONTROL_TEXT, LONGEST, quoted_control
from needlework.models.request_keys import RequestKeys, request_key
from needlework.prompts.spans import Span, literal

IDENTITY = {"backend": "made", "name": "ü"}
# Pieces of control tokens, so that some stand across the border of two spans.
PIECES = [
    *("<|im", "_end|>", "<", "|", "</s>", "[INST]", "[/IN", "ST]", "<<SYS>>", "\ud83d", "\ude00"),
    *("é", "字"),
]
PIECES += [" words of a text ", "<|" + "x" * 40 + "|>", "\n"]


def document(dice: random.Random, length: int) -> str:
    """Mostly words, with a piece of a control token now and then."""
    words = [dice.choice(PIECES) if dice.random() < 0.05 else " word" for _ in range(length)]
    return "".join(words)


def prompts(dice: random.Random, n: int) -> list[Request]:
    """Prompts that share documents, beginnings and parts of slices with the one before."""
    books = [{name: document(dice, 3000) for name in "ab"} for _ in range(2)]
    found: list[Request] = []
    spans: list[Span] = []
    for _ in range(n):
        spans = spans[: dice.randint(0, len(spans))]
        if spans and spans[-1].source and dice.random() < 0.7:
            last = spans.pop()
            assert last.end is not None
            spans.append(last._replace(end=last.end + dice.randint(-2000, 9000)))
        for _ in range(dice.randint(0, 4)):
            start = dice.randint(0, 15000)
            slices = Span("haystack", dice.choice("ab"), start, start + dice.randint(0, 9000))
            text = literal("question", "".join(dice.choices(PIECES, k=dice.randint(0, 3))))
            spans.append(dice.choice([slices, text]))
        where = books[dice.random() < 0.1]
        sample, limit = dice.choice([(0, 16), (1, 16), (0, 8)])
        found.append(Request("i", sample, "t", tuple(spans), ["x"], limit, 1, where))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_keys_and_quotes_are_those_of_rendered_prompts(seed: int) -> None:
    dice = random.Random(seed)
    keys = RequestKeys(IDENTITY)
    for request in prompts(dice, 12):
        extra = dice.choice([None, None, None, [1, "x"]])
        key = request_key(IDENTITY, request.prompt, request.sample, request.max_new_tokens, extra)
        quoted = CONTROL_TEXT.search(request.prompt)
        assert keys.of(request, extra) == (key, quoted and quoted[0])


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_a_control_token_is_found_as_by_its_pattern(text) -> None:
    found = CONTROL_TEXT.search(text)
    assert quoted_control(text) == (found and found[0])
    assert found is None or len(found[0]) <= LONGEST


def test_a_shared_beginning_is_rendered_once() -> None:
    read: list[tuple[int, int]] = []

    class Text(str):
        def __getitem__(self, place):
            read.append((place.start, place.stop))
            return str.__getitem__(self, place)

    documents = {"b": Text("word " * 20000)}
    keys = RequestKeys(IDENTITY)
    for n, end in enumerate((50_000, 60_000, 60_000)):
        spans = [
            literal("instruction", "Read."),
            Span("haystack", "b", 0, end),
            literal("question", f"{n}?"),
        ]
        keys.of(Request("i", 0, "t", spans, ["x"], 16, 1, documents))
    assert read == [(0, 50_000), (50_000, 60_000)]


def test_keys_of_an_entry_are_known() -> None:
    (request,) = requests("Who?")
    known = "c0d1a2ea4cc072b7aed29f75446124cce78682a9b5525795500307e800c12b71"
    assert request_key({"backend": "x"}, "Who?", 0, 16) == known
    assert RequestKeys({"backend": "x"}).of(request) == (known, None)
