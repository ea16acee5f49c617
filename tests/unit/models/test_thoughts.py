"""Thoughts are parted from answers in one place, from what the journal has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.models import requests
from needlework.given import given as blocks
from needlework.journal import Journal
from needlework.models.backends.base import Answer, Backend, Request
from needlework.models.generation import Policy, generate
from needlework.models.thoughts import KNOWN, ReasoningMark, marks_of, part, undecoded, unknown_mark

HARMONY = "<|channel|>analysis<|message|>Paris?<|end|><|start|>assistant<|channel|>final<|message|>"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        *[("London", None), ("<think>Could be Paris?</think>London", "London")],
        ("<think>\nParis?\n</think>\n\nLondon", "London"),
        ("<Think>Paris?</THINK> London", "London"),
        ("<thinking>Paris?</thinking>London", "London"),
        *[("[THINK]Paris?[/THINK]London", "London"), (HARMONY + "London", "London")],
        ("<|channel|>final<|message|>London", "London"),
        ("analysisParis? It may be.assistantfinalLondon", "London"),
        ("analysis of the text: London", None),
        # The chat template has opened the thoughts.
        ("Could be Paris?</think>London", "London"),
        # Nothing ends them.
        *[("<think>Could be Paris?", ""), ("<|channel|>analysis<|message|>Could be Paris?", "")],
        ("<think>Paris?</think>London<think>or Rome?</think>.", "London."),
        ("<think>one <think>two</think>London", "London"),
        *[("<think>a [/THINK] b</think>London", "London"), ("It thinks; x < y > z [sic]", None)],
        ("", None),
    ],
)
def test_thoughts_are_parted_from_the_answer(text: str, answer: str | None) -> None:
    found = part(text, KNOWN, cut=False)
    assert (None if found is None else found.text) == answer


@pytest.mark.parametrize(
    ("text", "opened", "whole", "cut"),
    [
        *[("Could be", True, None, ("", None)), ("Could be", False, None, None)],
        ("analysisWe need the city", False, None, ("", None)),
        ("analysis of the text: Lon", False, None, None),
    ],
)
def test_cut_text_may_be_all_thought(text: str, opened: bool, whole: Any, cut: Any) -> None:
    """If the template opens thoughts, or an analysis begins without its tokens."""
    assert part(text, KNOWN, cut=False, opened=opened) == whole
    assert part(text, KNOWN, cut=True, opened=opened) == cut


WORDS = st.text(st.characters(exclude_characters="<>[]|"), min_size=1).filter(str.strip)


@given(mark=st.sampled_from(KNOWN), thought=WORDS, answer=WORDS)
def test_what_stands_between_known_marks_is_never_the_answer(mark, thought, answer) -> None:
    if mark.begin is None or mark.begin.isalpha():
        return
    found = part(f"{mark.begin}{thought}{mark.end}{answer}", KNOWN, cut=False)
    assert found is not None and found.text.strip() == answer.strip()


def test_the_configuration_names_other_marks_or_none() -> None:
    own = marks_of(blocks([{"begin": "(((", "end": ")))"}, {"end": "So:"}]), None)
    assert own == (ReasoningMark("(((", ")))"), ReasoningMark(None, "So:"))
    assert part("(((a.c)))b", own, cut=False).text == "b"
    assert part("hm. So: b", own, cut=False).text == "b"
    assert part("<think>a</think>b", own, cut=False) is None
    assert part("<think>a</think>b", marks_of([], None), cut=False) is None
    assert marks_of(None, None) == KNOWN
    assert marks_of(None, blocks({"end": "So:"})) == (ReasoningMark(None, "So:"), *KNOWN)


class Thinking(Backend):
    """Answers every prompt with the same text."""

    def __init__(self, answer: Answer) -> None:
        super().__init__({})
        self.answer, self.asked = answer, 0

    def identity(self) -> Mapping[str, Any]:
        return {"backend": "thinking"}

    def generate(self, batch: Sequence[Request]) -> Iterator[Answer]:
        self.asked += len(batch)
        return (self.answer for _ in batch)


REQUESTS = requests("Where?", new=8, n_tokens=3)


def row(backend: Backend, folder: Path, **how: Any) -> dict[str, Any]:
    (found,) = generate(REQUESTS, backend, Journal(folder), Policy(**how)).to_pylist()
    return found


def test_another_mark_asks_nothing_again(tmp_path) -> None:
    backend = Thinking(Answer("<think>Paris?</think>Rome. So: London", reasoning_tokens=4))
    first = row(backend, tmp_path)
    assert (first["text"], first["finish_reason"]) == ("Rome. So: London", "stop")
    assert first["raw_text"] == backend.answer.text and first["reasoning_tokens"] == 4
    second = row(backend, tmp_path, marks=(ReasoningMark(None, "So:"),))
    assert second["text"] == "London"
    third = row(backend, tmp_path, marks=())
    assert (third["text"], third["raw_text"]) == (backend.answer.text, None)
    assert backend.asked == 1


def test_thoughts_that_nothing_ends_were_cut(tmp_path) -> None:
    found = row(Thinking(Answer("<think>Could be Paris")), tmp_path)
    assert (found["text"], found["finish_reason"]) == ("", "length")
    assert found["raw_text"] == "<think>Could be Paris"
    # Older records without thoughts stay as they are.
    old = Thinking(Answer("Rome", "length", reasoning_tokens=7))
    found = row(old, tmp_path / "older", opened=True)
    names = ("text", "finish_reason", "reasoning_tokens")
    assert [found[name] for name in names] == ["Rome", "length", 7]


def test_marks_that_are_special_tokens_are_seen(tmp_path) -> None:
    answer = Answer(
        "Paris?London",
        whole="[THINK]Paris?[/THINK]London</s>",
        special=("</s>", "[/THINK]", "[THINK]"),
        reasoning_tokens=0,
    )
    backend = Thinking(answer)
    found = row(backend, tmp_path)
    assert (found["text"], found["raw_text"]) == ("London", "Paris?London")
    # The count was made by another mark.
    assert found["reasoning_tokens"] is None
    assert row(backend, tmp_path, marks=())["text"] == "Paris?London"
    assert backend.asked == 1


def test_records_under_a_former_identity_stay_valid(tmp_path) -> None:
    class Renamed(Thinking):
        def identity(self) -> Mapping[str, Any]:
            return {"backend": "thinking", "reasoning": "usual"}

        def former_identity(self) -> Mapping[str, Any]:
            return {"backend": "thinking"}

    old, new = Thinking(Answer("London")), Renamed(Answer("Paris"))
    row(old, tmp_path)
    assert row(new, tmp_path)["text"] == "London" and new.asked == 0
    assert row(new, tmp_path / "other")["text"] == "Paris"


def test_a_thought_is_no_answer_in_any_benchmark(tmp_path) -> None:
    """MLNeedle once took Paris, which the model only thought of, for its answer."""
    from needlework.benchmarks.lost_in_the_middle.scores import score as lost
    from needlework.benchmarks.mlneedle.scores import score as mlneedle

    model = Thinking(Answer("<think>Could be Paris?</think>London"))
    answers = generate(REQUESTS, model, Journal(tmp_path))
    names = {"instance_id": [REQUESTS[0].instance_id], "task": ["closed_book"], "example_id": ["e"]}
    instances = pa.table({**names, "references": pa.array([["Paris"]], pa.list_(pa.string()))})

    def values(score: Any, metric: str) -> list[float]:
        settings = blocks({"metric": metric})
        found = score(instances, answers, None, model="m", settings=settings)
        return found["value"].to_pylist()

    assert values(mlneedle, metric="containment") == values(lost, "best_subspan_em") == [0.0, 0.0]
    # The released code reads all that a model wrote.
    assert values(mlneedle, metric="released") == [1.0, 0.0]


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        *[("<ponder>Paris?</ponder>London", "<ponder>"), ("<b>London</b>", None)],
        *[("<answer>London</answer>", None), ("<ponder> is a verb", None)],
    ],
)
def test_an_unknown_tag_that_closes_is_told(text: str, mark: str | None) -> None:
    assert unknown_mark(text) == mark


# Letters of a vocabulary

_PLAIN = {*range(33, 127), *range(161, 173), *range(174, 256)}
_REST = [byte for byte in range(256) if byte not in _PLAIN]


def in_letters(text: str) -> str:
    """A text as GPT-2's vocabulary writes it."""
    return "".join(chr(b if b in _PLAIN else 256 + _REST.index(b)) for b in text.encode())


ANSWERS = (
    *("The answer is Marrow Bridge.", " Paris", " in", "Two\n\nlines.", "答案是巴黎。", "巴黎"),
    *("Ответ: Москва.", "القاهرة", "café", "Zürich", "Łódź", "Beč", "ĉevalo", "naïve façade"),
)


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_in_letters_of_bytes_is_told(text: str) -> None:
    sent = in_letters(text)
    mark = undecoded(sent)
    assert mark and mark in sent and mark not in text
    # A character that the limit cut; tokens with spaces between them; a server that decodes only spaces.
    assert undecoded(in_letters(f"{text} 巴黎 巴")[:-1])
    assert undecoded(sent.replace("Ġ", " Ġ") + " ĠParis") and undecoded(
        f"A line.{in_letters(chr(10))}"
    )


@pytest.mark.parametrize(
    "text", [*ANSWERS, "", "Ġorġ u Ċensu", "L-Ingliżi", "INĠLIŻI", "x_1 <0xZZ>", "▁▂▃"]
)
def test_words_with_such_letters_are_no_bytes(text: str) -> None:
    assert undecoded(text) is None


@pytest.mark.parametrize(("text", "mark"), [("▁The▁answer", "▁"), ("<0x0A>One<0x0A>", "<0x0A>")])
def test_sentencepieces_own_signs_are_told(text: str, mark: str) -> None:
    assert undecoded(text) == mark
