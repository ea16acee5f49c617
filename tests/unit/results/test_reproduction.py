"""Every number that a paper prints has a verdict from its preset, or one reason why no run can have one."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import preset_runs
from needlework.errors import UserError
from needlework.results import published, reproduction
from needlework.results.drawing.save import save_figure
from needlework.results.drawing.style import PAGE, TALLEST
from needlework.results.published import COVERED, JUDGED
from needlework.results.reproduction import Reason, picture

ROOT = Path(__file__).resolve().parents[3]
REASONS = reproduction.read_reasons(ROOT / "resources/reasons.csv")


def made(benchmark: str) -> pd.DataFrame:
    """What a full run of a preset, and one of its own, say of each printed number.

    Results that print no number, or again those of others, are left out.
    """
    results = {}
    # M4LE's run of its own has no printed number.
    runs = ["", preset_runs.BESIDE["mlongrr"]] if benchmark == "mlongrr" else [""]
    for i, changes in enumerate(runs):
        files = preset_runs.layout(benchmark, changes)
        frames = preset_runs.MADE[benchmark](files)
        for result in files.results.filled(benchmark):
            again = (
                result.needs == "scores" and result.name not in preset_runs.ALL_NUMBERS[benchmark]
            )
            if result.needs in frames and not again:
                run = preset_runs.context(files, benchmark, result.needs)
                results[f"{result.name}/{i}"] = result(frames[result.needs], run)
    numbers = published.load(ROOT / f"resources/published/{benchmark}.csv")
    return reproduction.reproduced(benchmark, numbers, results, REASONS.get(benchmark, []), {})


# By paper: how many numbers there are, and how many of them have a verdict.
VERDICTS = {
    "mlneedle": (229, 208),
    "lost_in_the_middle": (221, 75),
    "oneruler": (673, 551),
    "mlongrr": (217, 134),
    "m4le": (2378, 2017),
}


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", VERDICTS)
def test_every_printed_number_has_a_verdict_or_a_reason(benchmark: str) -> None:
    """Neither more nor less, by table as docs/fidelity.md says: none has both, none has neither."""
    found = made(benchmark)
    judged = found["verdict"].isin(JUDGED)
    numbers = published.load(ROOT / f"resources/published/{benchmark}.csv")
    numbers = numbers.drop_duplicates(["table", "row", "column"])
    places = zip(numbers["table"], numbers["row"], numbers["column"], numbers["note"], strict=True)
    never = [
        reproduction.reason_of(REASONS.get(benchmark, []), *place) is not None for place in places
    ]
    assert found.loc[judged.eq(never).to_numpy(), ["table", "row", "column", "reason"]].empty
    assert (len(found), int(judged.sum())) == VERDICTS[benchmark]
    if benchmark == "m4le":
        means = found["table"].isin(["table3", "table4", "table5", "table6", "figure3"])
        assert judged[means].mean() > 0.9
    # Scores that were drawn around the printed ones are mostly covered.
    shares = judged & found["ci_low"].notna()
    assert not shares.any() or found.loc[shares, "verdict"].isin(COVERED).mean() > 0.5


NUMBERS = pd.DataFrame(
    [("table1", "a", "x", 0.5, ""), ("table1", "b", "x", 0.4, ""), ("table2", "a", "y", 3.0, "n")],
    columns=["table", "row", "column", "value", "note"],
)


def row(cell: str, comparison: str, **own: object) -> dict[str, object]:
    numbers = {"value": 0.5, "ci_low": 0.3, "ci_high": 0.6}
    return {"source": "ours", "published_cell": cell, "comparison": comparison, **numbers, **own}


def compared(results: dict[str, list[dict[str, object]]], *reasons: Reason) -> pd.DataFrame:
    frames = {name: pd.DataFrame(rows) for name, rows in results.items()}
    return reproduction.reproduced("b", NUMBERS, frames, reasons, {"model": {"m"}, "length": {"8"}})


def test_a_verdict_comes_before_a_reason_and_names_its_result() -> None:
    first = row("table1 | a | x", "cannot tell: metric is paper; other lengths")
    found = compared({"one": [first], "two": [row("table1 | a | x", "below")]}).iloc[0]
    assert (found["verdict"], found["reason"], found["result"]) == ("below", "", "two")
    assert (found["published"], found["value"], found["ci_low"]) == (0.5, 0.5, 0.3)
    # A number of ours that cannot be compared comes before none of ours.
    none = row("table1 | a | x", "cannot tell: no answer", value=math.nan)
    some = row("table1 | a | x", "cannot tell: other data")
    assert compared({"one": [none], "two": [some]}).iloc[0]["result"] == "two"


def test_a_fact_of_the_paper_comes_before_other_reasons() -> None:
    """It hides none, and of two tokenizers the one with fewer reasons is named, not the first."""
    never = Reason("table?", "*", "[xy]", "n", "a setting")
    found = compared({"one": [row("table1 | a | x", "cannot tell: other data")]}, never)
    assert found["verdict"].eq("cannot tell").all()
    assert found["reason"].tolist() == ["other data", reproduction.NOT_MADE, "a setting"]
    counts = reproduction.counts(found)
    assert counts["n"].sum() == 3 and set(counts["reason"]) == set(found["reason"])
    never = Reason("table1", "a", "x", "*", "sums")
    other = row("table1 | a | x", "cannot tell: another tokenizer; sums", value=0.1)
    same = row("table1 | a | x", "cannot tell: sums", value=0.2)
    found = compared({"one": [other, same]}, never).iloc[0]
    assert (found["value"], found["reason"]) == (0.2, "sums")
    assert compared({"one": [other]}, never).iloc[0]["reason"] == "sums; another tokenizer"


def test_the_order_of_tokenizers_changes_no_verdict() -> None:
    rows = [row("table1 | a | x", one) for one in ("differs", "equals")]
    rows[0]["value"] = 0.7
    for counts in (rows, rows[::-1]):
        found = compared({"one": counts}).iloc[0]
        assert (found["verdict"], found["value"]) == ("equals", 0.5)


def test_statistics_of_a_row_are_numbers_of_their_own() -> None:
    """Rows of the paper's models are none of ours."""
    theirs = row("table1 | a | x", "covers", source="published")
    assert compared({"one": [theirs]})["verdict"].eq("cannot tell").all()
    both = {
        **{"source": "ours", "mean": 0.5, "max": 0.9, "comparison": "differs: max"},
        **{
            f"published_cell_{name}": f"table1 | {r} | x"
            for name, r in (("mean", "a"), ("max", "b"))
        },
    }
    found = compared({"tokens": [both]}).head(2)
    assert found["verdict"].tolist() == ["equals", "differs"]
    assert found["value"].tolist() == [0.5, 0.9]


def test_a_dot_leads_to_the_prompts_of_its_labels() -> None:
    labels = {"model": "m", "column": "8", "metric": "released", "length_of_nothing": 1.0}
    link = compared({"one": [row("table1 | a | x", "covers", **labels)]}).iloc[0]["link"]
    assert link == "explorer/index.html#b=b&f.model=m&f.length=8"


def test_a_run_without_a_verdict_says_so_in_one_sentence() -> None:
    found = compared({"one": [row("table1 | a | x", "cannot tell: other data")]})
    assert reproduction.coverage(found).startswith("None of the 3 printed numbers can be")
    judged = compared({"one": [row("table1 | a | x", "covers"), row("table1 | b | x", "above")]})
    said = "1 of 2 printed numbers are covered; 1 more have no verdict."
    assert reproduction.coverage(judged) == said


@pytest.mark.parametrize("line", ["m4le,table2,*,*,*,", "m4le,table2"])
def test_a_line_that_is_no_reason_is_named(line: str, tmp_path: Path) -> None:
    file = tmp_path / "reasons.csv"
    file.write_text(f"{','.join(reproduction.REASON_COLUMNS)}\n{line}\n", "utf-8")
    with pytest.raises(UserError, match=r"reasons\.csv, line 2: it must have the columns paper,"):
        reproduction.read_reasons(file)


def test_every_reason_is_of_a_printed_number() -> None:
    with (ROOT / "resources/reasons.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    for line in lines:
        numbers = published.load(ROOT / f"resources/published/{line['paper']}.csv")
        reason = Reason(*(line[name] for name in reproduction.REASON_COLUMNS[1:]))
        keys = zip(*(numbers[n] for n in ("table", "row", "column", "note")), strict=True)
        assert any(reason.holds(*key) for key in keys), line


def many(benchmarks: list[str], n: int) -> pd.DataFrame:
    """So many printed shares of each benchmark, and counts; every third is not covered, every fourth lost."""
    rng, made = np.random.default_rng(0), []
    for name in benchmarks:
        for i in range(n):
            share, count = float(rng.random()), float(10 ** rng.integers(0, 6))
            paper = share if i % 10 else count
            verdict = ("covers", "covers", "below", "cannot tell")[i % 4]
            ours = paper if verdict == "covers" else paper * 0.8
            ends = {"ci_low": ours * 0.9, "ci_high": min(1.0, ours * 1.1)}
            labels = {"benchmark": name, "table": "table1", "row": f"m{i}", "column": "x"}
            said = {"verdict": verdict, "reason": "", "result": "t", "link": f"explorer#{name}-{i}"}
            made.append({**labels, "published": paper, "value": ours, **ends, **said})
    return pd.DataFrame(made, columns=list(reproduction.COLUMNS))


@pytest.mark.parametrize(("n_benchmarks", "n"), [(1, 8), (5, 120)])
def test_each_dot_is_drawn_once_and_leads_somewhere(
    n_benchmarks: int, n: int, tmp_path: Path
) -> None:
    """On a page, with room for dots in every panel."""
    names = [f"benchmark{i}" for i in range(n_benchmarks)]
    table = many(names, n)
    figure = picture(table, {name: name.capitalize() for name in names})
    width, height = figure.get_size_inches()
    assert width <= PAGE + 0.01 and height <= TALLEST
    save_figure([figure], tmp_path / "picture", ["svg"])
    svg = (tmp_path / "picture.svg").read_text("utf-8")
    assert set(table["link"]) == set(re.findall(r'xlink:href="(explorer#[^"]+)"', svg))
    titles = "\n".join(axes.get_title() for axes in figure.axes).replace(",", "")
    counts = np.array(re.findall(r": (\d+) of (\d+)", titles), dtype=int).sum(axis=0)
    judged, covered = (table["verdict"].isin(kind).sum() for kind in (JUDGED, COVERED))
    assert counts.tolist() == [covered, judged]
    assert reproduction.coverage(table).startswith(f"{table['verdict'].eq('covers').sum():,} of ")
    boxes = [axes.get_window_extent() for axes in figure.axes if axes.get_title()]
    assert all(box.width > 60 and box.height > 60 for box in boxes)


def printed(
    table: str, *verdicts: tuple[str, float, str], result: str | None = "r"
) -> pd.DataFrame:
    """Numbers of a paper's table, all 2, each with verdict, our number and the reason."""
    named = {"table": table, "published": 2.0, "result": result}
    return pd.DataFrame(
        [named | dict(zip(("verdict", "value", "reason"), v, strict=True)) for v in verdicts]
    )


def test_agreement_counts_and_gives_the_usual_reason() -> None:
    told = [("cannot tell", 1.0, reason) for reason in "abb"]
    mixed = printed("t", ("covers", 1.0, ""), ("below", 1.0, ""), *told)
    exact = printed("e", ("equals", 2.0, ""), ("differs", 1.0, ""), ("differs", 3.0, ""))
    nowhere = [printed(name, *told[:1], result=None) for name in ("u", "v")]
    one, two, rest = reproduction.agreements(pd.concat([mixed, exact, *nowhere]))
    assert (one.covers, one.below, one.above, one.cannot_tell, one.reason) == (1, 1, 0, 3, "b")
    assert (two.covers, two.below, two.above, two.cannot_tell, two.reason) == (1, 1, 1, 0, "")
    assert (rest.tables, rest.cannot_tell, rest.reason) == ({"u": "", "v": ""}, 2, "a")
    # One sentence says so.
    assert reproduction.agreements(pd.concat(nowhere)) == []
    both = pd.concat([mixed, exact]).assign(benchmark="b")
    said = "Agreement with the paper: 2 of 5 numbers covered, 2 below, 1 above"
    assert reproduction.agreement(both) == said
    assert reproduction.agreement(both[both["verdict"] == "cannot tell"]) == ""
