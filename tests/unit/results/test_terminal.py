"""The last lines of a run: a line for each model, in 80 columns."""

from __future__ import annotations

import pandas as pd
import pytest

from needlework.results.numbers.means import means
from needlework.results.numbers.tables import frame
from needlework.results.page.terminal import (
    MOST_LINES,
    WIDTH,
    cell_of,
    lines_of_lower_tasks,
    lines_of_models,
    lines_to_paste,
    wrapped,
)

TITLES = ("MLNeedle", "Lost in the Middle", "ONERULER", "mLongRR", "M4LE")


CLOSED_BOOK = ("task", "closed_book")


def scores(**columns: list[object]) -> pd.DataFrame:
    """Four answers to two questions, each by two metrics."""
    own = {
        "model": ["m"] * 8,
        "metric": ["first", "second"] * 4,
        "instance_id": ["a", "a", "b", "b", "c", "c", "d", "d"],
        "sample": [0] * 8,
        "value": [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0],
        "finish_reason": ["stop"] * 8,
        "example_id": ["1", "1", "1", "1", "2", "2", "2", "2"],
        "task": ["find"] * 6 + ["count"] * 2,
    }
    return pd.DataFrame(own | columns)


def cell(scores: pd.DataFrame, tasks=(), closed_book=CLOSED_BOOK):
    return cell_of(frame("means", list(means("b", scores, closed_book, tasks))))


@pytest.mark.parametrize(
    ("columns", "tasks", "closed_book", "said"),
    [
        ({}, (), CLOSED_BOOK, "75 [6, 100], n = 2"),
        ({}, ("find",), CLOSED_BOOK, "67 ["),
        # A model that was asked none of the tasks has a mean over what it was asked.
        ({}, ("other",), CLOSED_BOOK, "75 ["),
        # Prompts without texts, and requests without an answer, are in no mean.
        ({"length": [0, 0, 512, 512, 512, 512, 0, 0]}, (), ("length", 0), "50 ["),
        ({"length": [0] * 8}, (), ("length", 0), "75 ["),
        (
            {"finish_reason": ["stop"] * 4 + ["error"] * 2 + ["skipped"] * 2},
            (),
            CLOSED_BOOK,
            "100 [",
        ),
        ({"finish_reason": ["error"] * 8}, (), CLOSED_BOOK, "-"),
    ],
)
def test_a_mean_is_of_answers_to_designed_tasks(columns, tasks, closed_book, said) -> None:
    found = cell(scores(**columns), tasks, closed_book)
    found = f"{found.mean}, n = {found.n}" if found else "-"
    assert found.startswith(said) and (found == said or said.endswith("["))


@pytest.mark.parametrize("name", ["m", "a-model-with-a-very-long-name-of-fifty-characters-it-is"])
def test_each_model_has_a_line_of_80_columns(name: str) -> None:
    cells = {f"{name}{i}": dict.fromkeys(TITLES, "100 [92, 100], n = 12") for i in range(3)}
    lines = lines_of_models(cells, ())
    assert max(map(len, lines)) <= WIDTH
    assert sum("n = 12" in line for line in lines) in (6, 9)
    assert all(title in "\n".join(lines) for title in TITLES)


def test_a_line_to_paste_says_all_of_a_mean() -> None:
    own = scores(metric=["best_subspan_em", "other"] * 4, n_documents=[10] * 8, length=[0] * 8)
    one = cell(own)
    cells = {"smollm2": {"A": one, "B": None}, "oracle": {"A": one, "B": one}}
    assert lines_to_paste(cells, ["oracle"], "3c6c7f1") == [
        "smollm2  A  75 [6, 100]  n=2  best_subspan_em  10 documents  3c6c7f1"
    ]
    own["length"] = [512, 512, 2048, 2048] * 2
    assert cell(own).size == "512 to 2,048 tokens and 10 documents"
    many = {f"m{i}": {"A": one} for i in range(MOST_LINES + 1)}
    assert lines_to_paste(many, [], "x") == [] and lines_to_paste({}, [], "x") == []


def test_controls_are_shown_only_alone() -> None:
    cells = {"model": {"A": "50 [41, 59], n = 99", "B": "-"}, "oracle": {"A": "100", "B": "100"}}
    shown = [" ".join(line.split()) for line in lines_of_models(cells, ["oracle"])[2:]]
    assert shown == ["A", "model 50 [41, 59], n = 99"]
    alone = lines_of_models({"oracle": cells["oracle"]}, ["oracle"])
    assert max(map(len, alone)) <= WIDTH
    assert "Built-in readers" in alone[1] and alone[-1].split() == ["oracle", "100", "100"]
    # A long sentence is wrapped.
    lines = wrapped("word " * 40).splitlines()
    assert max(map(len, lines)) <= WIDTH and lines[1].startswith("  word")


def test_tasks_below_a_mean_without_them_are_named() -> None:
    """Not what is above it, nor prompts without texts, nor the tasks of the mean."""
    tasks = {"exact": 1.0, "existence": 0.0, "other": 0.98, "closed_book": 0.0}
    rows = [
        {
            **{
                "model": "mine",
                "instance_id": f"{task}{i}",
                "sample": 0,
                "example_id": str(i),
                "task": task,
            },
            **{"value": share, "finish_reason": "stop", "metric": "m"},
        }
        for task, share in tasks.items()
        for i in range(10)
    ]
    one = cell(pd.DataFrame(rows), ("exact",))
    cells = {"mine": {"A": one, "B": None}, "oracle": {"A": one}}
    assert lines_of_lower_tasks(cells, ["oracle"]) == [
        "Left out, and lower: mine, A existence: 0 [0, 31], n = 10."
    ]
    assert cell(pd.DataFrame(rows)).lower == []
    assert lines_of_lower_tasks({"mine": {"A": one._replace(lower=[])}}, []) == []
