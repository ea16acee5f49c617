"""Thoughts are parted from answers in one place, from what the journal has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from needlework.journal import Journal
from needlework.models.backends.base import Answer, Backend, Request
from needlework.models.generation import Policy, generate
from needlework.models.thoughts import KNOWN, Mark, marks, part, unknown_mark
from needlework.prompts.spans import literal

HARMONY = "<|channel|>analysis<|message|>Paris?<|end|><|start|>assistant<|channel|>final<|message|>"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("London", None),
        ("<think>Could be Paris?</think>London", "London"),
        ("<think>\nParis?\n</think>\n\nLondon", "London"),
        ("<Think>Paris?</THINK> London", "London"),
        ("<thinking>Paris?</thinking>London", "London"),
        ("[THINK]Paris?[/THINK]London", "London"),
        (HARMONY + "London", "London"),
        ("<|channel|>final<|message|>London", "London"),
        ("analysisParis? It may be.assistantfinalLondon", "London"),
        ("analysis of the text: London", None),
        # The chat template has opened the thoughts.
        ("Could be Paris?</think>London", "London"),
        # Nothing ends them.
        ("<think>Could be Paris?", ""),
        ("<|channel|>analysis<|message|>Could be Paris?", ""),
        ("<think>Paris?</think>London<think>or Rome?</think>.", "London."),
        ("<think>one <think>two</think>London", "London"),
        ("<think>a [/THINK] b</think>London", "London"),
        ("It thinks; x < y > z [sic]", None),
        ("", None),
    ],
)
def test_thoughts_are_parted_from_the_answer(text: str, answer: str | None) -> None:
    found = part(text, KNOWN, cut=False)
    assert (None if found is None else found.text) == answer


def test_cut_text_is_all_thought_if_the_template_opens_it() -> None:
    assert part("Could be", KNOWN, cut=True, opened=True) == ("", None)
    assert part("Could be", KNOWN, cut=False, opened=True) is None
    assert part("Could be", KNOWN, cut=True) is None


def test_a_cut_analysis_without_its_tokens_is_all_thought() -> None:
    assert part("analysisWe need the city", KNOWN, cut=True) == ("", None)
    assert part("analysisWe need the city", KNOWN, cut=False) is None
    assert part("analysis of the text: Lon", KNOWN, cut=True) is None


def test_the_configuration_names_other_marks_or_none() -> None:
    own = marks({"thoughts": [{"begin": "(((", "end": ")))"}, {"end": "So:"}]})
    assert own == (Mark("(((", ")))"), Mark(None, "So:"))
    assert part("(((a.c)))b", own, cut=False).text == "b"
    assert part("hm. So: b", own, cut=False).text == "b"
    assert part("<think>a</think>b", own, cut=False) is None
    assert part("<think>a</think>b", marks({"thoughts": []}), cut=False) is None
    assert marks({"thoughts": None, "reasoning": None}) == KNOWN
    assert marks({"thoughts": None, "reasoning": {"end": "So:"}}) == (Mark(None, "So:"), *KNOWN)


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


REQUESTS = [Request("a" * 64, 0, "exact", [literal("question", "Where?")], ["London"], 8, 3, {})]


def row(backend: Backend, folder: Path, **how: Any) -> dict[str, Any]:
    (found,) = generate(REQUESTS, backend, Journal(folder), Policy(**how)).to_pylist()
    return found


def test_another_mark_asks_nothing_again(tmp_path) -> None:
    backend = Thinking(Answer("<think>Paris?</think>Rome. So: London", reasoning_tokens=4))
    first = row(backend, tmp_path)
    assert (first["text"], first["finish_reason"]) == ("Rome. So: London", "stop")
    assert first["raw_text"] == backend.answer.text and first["reasoning_tokens"] == 4
    second = row(backend, tmp_path, marks=(Mark(None, "So:"),))
    assert second["text"] == "London"
    third = row(backend, tmp_path, marks=())
    assert (third["text"], third["raw_text"]) == (backend.answer.text, None)
    assert backend.asked == 1


def test_thoughts_that_nothing_ends_were_cut(tmp_path) -> None:
    found = row(Thinking(Answer("<think>Could be Paris")), tmp_path)
    assert (found["text"], found["finish_reason"]) == ("", "length")
    assert found["raw_text"] == "<think>Could be Paris"


def test_marks_that_are_special_tokens_are_seen(tmp_path) -> None:
    """An engine shows text without them; the journal has them."""
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


def test_older_records_without_thoughts_stay_as_they_are(tmp_path) -> None:
    backend = Thinking(Answer("Rome", "length", reasoning_tokens=7))
    found = row(backend, tmp_path, opened=True)
    assert (found["text"], found["finish_reason"], found["reasoning_tokens"]) == (
        "Rome",
        "length",
        7,
    )


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

    text = "<think>Could be Paris?</think>London"
    answers = generate(REQUESTS, Thinking(Answer(text)), Journal(tmp_path))
    instances = pa.table(
        {
            "instance_id": ["a" * 64],
            "task": ["closed_book"],
            "example_id": ["e"],
            "references": pa.array([["Paris"]], pa.list_(pa.string())),
        }
    )
    found = mlneedle(instances, answers, None, model="m", settings={"metric": "containment"})
    assert found["value"].to_pylist() == [0.0, 0.0]
    # The released code reads all that a model wrote.
    found = mlneedle(instances, answers, None, model="m", settings={"metric": "released"})
    assert found["value"].to_pylist() == [1.0, 0.0]
    found = lost(instances, answers, None, model="m", settings={})
    assert found["value"].to_pylist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("<ponder>Paris?</ponder>London", "<ponder>"),
        ("<b>London</b>", None),
        ("<answer>London</answer>", None),
        ("<ponder> is a verb", None),
    ],
)
def test_an_unknown_tag_that_closes_is_told(text: str, mark: str | None) -> None:
    assert unknown_mark(text) == mark
