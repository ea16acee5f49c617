"""The tables of docs/results.md: their sums, and that the page says what the committed tables say."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

from real_results import KEPT, markdown, natural_questions, read, xquad

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/results.md").read_text(encoding="utf-8")
SECTION = PAGE[PAGE.index("## SmolLM2-135M-Instruct on Natural Questions and XQuAD") :]
# Other tables stand on pages of their own, or as pictures.
TABLES = sorted(
    path for path in KEPT.glob("*.csv") if path.stem.startswith(("natural_questions", "xquad"))
)
RUNS = sorted(KEPT.glob("provenance*.json"))


def answer(task: str, question: int, value: float, **own: Any) -> dict[str, Any]:
    """A row of scores; the prompt's similarity to its distractors is 0.5 less a tenth of the index."""
    index = own.get("gold_index")
    row = {"task": task, "example_id": f"q{question}", "sample": 0, "value": value}
    row |= {"finish_reason": "stop", "gold_index": index, "distractors": "none"}
    return row | {"similarity": None if index is None else 0.5 - index / 10} | own


@pytest.fixture
def scores() -> pd.DataFrame:
    """Ten questions. Random distractors: the first 6, 4, 6 are right; retrieved ones: 3, 2, 5."""
    rows = [answer("closed_book", n, float(n < 1)) for n in range(10)]
    rows += [answer("oracle", n, float(n < 9)) for n in range(10)]
    for kind, right in (("random", (6, 4, 6)), ("retrieved", (3, 2, 5))):
        for index, below in zip((0, 4, 9), right, strict=True):
            placed = {"gold_index": index, "distractors": kind}
            rows += [answer("multi_document_qa", n, float(n < below), **placed) for n in range(10)]
    return pd.DataFrame(rows)


def test_right_answers_are_counted_by_prompt(scores: pd.DataFrame) -> None:
    """Skipped ones are lost and not wrong."""
    rows = natural_questions(scores)["natural_questions"]
    assert [row["right"] for row in rows] == ["1", "9", "6", "4", "6", "3", "2", "5"]
    assert {row["n"] for row in rows} == {"10"}
    # Clopper and Pearson's of six of ten.
    assert (rows[2]["low"], rows[2]["high"]) == ("0.262", "0.878")
    assert [row["similarity"] for row in rows] == ["", "", *("0.500", "0.100", "-0.400") * 2]
    mine = (scores["task"] == "oracle") & (scores["example_id"] == "q9")
    scores.loc[mine, "finish_reason"] = "skipped"
    row = natural_questions(scores)["natural_questions"][1]
    assert (row["right"], row["n"], row["lost"], row["share"]) == ("9", "9", "1", "1.000")


def test_differences_are_paired_and_tested(scores: pd.DataFrame) -> None:
    rows = natural_questions(scores)["natural_questions_differences"]
    found = {(row["second"], row["first"], row["index"]): row for row in rows}
    first = found["retrieved", "random", "0"]
    assert (first["difference"], first["first only"], first["second only"]) == ("-0.300", "3", "0")
    # Three of three on one side: 2 / 2**3.
    assert first["p"] == "0.25"
    # Of the ten questions, the first two are right everywhere, and 2 to 5 more often among random ones.
    whole = found["retrieved", "random", "all"]
    assert (whole["pairs"], whole["first only"], whole["second only"]) == ("30", "4", "0")
    assert whole["p"] == "0.12" and whole["difference"] == "-0.200"
    middle = found["random, 4", "random, 0", ""]
    assert (middle["difference"], middle["first only"], middle["p"]) == ("-0.200", "2", "0.5")


def test_xquad_is_shown_by_language_and_place() -> None:
    rows = []
    for lang, right in (("de", 1), ("en", 3)):
        own = {"needle_lang": lang, "metric": "containment"}
        for n in range(4):
            none = {"length": 0, "position": None}
            rows += [
                answer("closed_book", n, 0.0, **none, **own),
                answer("exact", n, 1.0, **none, **own),
            ]
            for place in ("start", "middle", "end"):
                at = {"length": 1024, "position": place}
                rows.append(answer("exact", n, float(n < right), **at, **own))
    own = {"length": 1024, "position": "end", "needle_lang": "en", "metric": "careful"}
    shown = xquad(pd.DataFrame([*rows, answer("exact", 0, 1.0, **own)]))["xquad"]
    assert [row["right"] for row in shown] == ["0", "4", "1", "1", "1", "0", "4", "3", "3", "3"]
    assert {row["n"] for row in shown} == {"4"}


def test_numbers_of_the_page_are_those_of_the_tables() -> None:
    assert TABLES and all(markdown(read(path)) in SECTION for path in TABLES)
    kept = "\n".join(path.read_text("utf-8") for path in [*TABLES, *RUNS])
    prose = "\n".join(line for line in SECTION.splitlines() if not line.startswith("|"))
    for number in re.findall(r"\d\.\d+|[0-9a-f]{64}", prose):
        assert number in kept, number


# Lines of the page's table of numbers that need no model, by benchmark, tables and columns of the CSV.
NO_MODEL = {
    ("lost_in_the_middle", "table2", ""): "Lost in the Middle, Table 2:",
    ("lost_in_the_middle", "table4", ""): "Lost in the Middle, Table 4:",
    ("oneruler", "table4", ""): "ONERULER, Table 4:",
    ("oneruler", "figure24", ""): "ONERULER, Figure 24:",
    ("mlongrr", "table2", ""): "mLongRR, Table 2:",
    ("mlongrr", "fertility", ""): "mLongRR, the same in the authors' notebook",
    ("mlongrr", "construction/GPT4o", ""): "mLongRR, log of the construction:",
    ("m4le", "table3", "[124]000"): "M4LE, Table 3: normalised scores at 1,000 to 4,000",
    ("m4le", "table3", "[68]000"): "M4LE, the same at 6,000 and 8,000",
    ("m4le", "(table3|figure3)", "(average|slope)"): "M4LE, averages of Table 3",
}
# Digits that the papers print, where not the numbers' own: a last 0 is lost in the CSV.
DIGITS = {"lost_in_the_middle": 1, "mlongrr/table2": 2, "mlongrr/fertility": 5, "m4le/table3": 2}


def test_numbers_without_models_are_counted_in_their_table() -> None:
    rows = pd.read_csv(KEPT / "no_model.csv", dtype=str, keep_default_na=False)
    section = PAGE[PAGE.index("## Numbers that need no model") : PAGE.index("## SmolLM2-135M")]
    judged = rows[rows["verdict"] != "cannot tell"]
    equal, counted = judged[judged["verdict"] == "equals"], 0
    for (benchmark, table, column), line in NO_MODEL.items():
        own = judged[(judged["benchmark"] == benchmark) & judged["table"].str.fullmatch(table)]
        own = own[own["column"].str.fullmatch(column)] if column else own
        (told,) = re.findall(rf"^\| {re.escape(line)}.* \| (\d+) \| (\d+) \|$", section, re.M)
        assert told == (str(sum(own["verdict"] == "equals")), str(len(own))), line
        counted += len(own)
    rounded = 0
    for row in equal.to_dict("records"):
        keys = row["benchmark"], f"{row['benchmark']}/{row['table']}"
        digits = next((DIGITS[key] for key in keys if key in DIGITS), None)
        digits = {None: 0, "slope": 3}.get(row["column"], 0) if digits is None else digits
        value, printed = float(row["value"]), float(row["published"])
        rounded += f"{value:.{digits}f}" == f"{printed:.{digits}f}"
    assert counted == len(judged)
    said = f"{len(equal)} of {len(judged)} numbers are the paper's in all digits printed"
    assert said in " ".join(section.split())
    assert f"{rounded} if rounded, {len(equal) - rounded} only if cut" in section
    sums = rows[rows["reason"].str.contains("sums over articles")]
    off = (sums["value"].astype(float) - sums["published"].astype(float)).abs().max()
    unknown = rows["reason"].str.contains("50 articles end").sum()
    without = f"Without a verdict: {len(sums)} counts of tokens in mLongRR's log"
    assert without in section and f"are within {off:g} of them" in section
    assert f"and {unknown} counts of tokens per word" in section
    assert len(sums) + unknown == len(rows) - len(judged)


@pytest.mark.parametrize("run", RUNS, ids=lambda path: path.stem)
def test_the_committed_tables_know_what_they_were_made_of(run: Path) -> None:
    made = json.loads(run.read_text("utf-8"))
    own = made["configuration"]
    assert own["run"]["models"] == ["smollm2-135m"]
    assert own["models"]["smollm2-135m"]["sampling"]["temperature"] == 0
    (digest,) = made["model"]["weights"]["files"].values()
    assert re.fullmatch("[0-9a-f]{64}", digest) and digest in SECTION
    questions = own["benchmarks"]["lost_in_the_middle"]["questions"]
    rows = read(KEPT / f"natural_questions{run.stem.removeprefix('provenance')}.csv")
    assert {int(row["n"]) + int(row["lost"]) for row in rows} == {questions}


def pictures() -> ModuleType:
    """docs/generate_pictures.py."""
    file = ROOT / "docs/generate_pictures.py"
    spec = importlib.util.spec_from_file_location("generate_pictures", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pictures_are_of_the_committed_numbers(monkeypatch, tmp_path) -> None:
    drawn = pictures()
    assert not drawn.stale(), "run python docs/generate_pictures.py"
    shown = re.findall(r"images/([\w.-]+\.png)", PAGE + (ROOT / "README.md").read_text("utf-8"))
    # Two are pages as a browser shows them.
    assert set(shown) == {*drawn.PICTURES, "demo_page.png", "needle.png"}
    assert {path.name for path in drawn.IMAGES.iterdir()} == set(shown)
    # One of other numbers is seen.
    table = drawn.PICTURES["natural_questions.png"].table
    monkeypatch.setattr(drawn, "RESULTS", tmp_path)
    for picture in drawn.PICTURES.values():
        text = (KEPT / picture.table).read_text("utf-8")
        changed = text.replace("0.240", "0.250") if picture.table == table else text
        (tmp_path / picture.table).write_text(changed, "utf-8")
    assert drawn.stale() == ["natural_questions.png"]


@pytest.mark.parametrize(
    "name, right",
    [("natural_questions", (72, 44, 117)), ("lost_in_the_middle_figure5", (26, 15, 26))],
)
def test_a_curve_shows_the_numbers_that_the_pages_say(name, right) -> None:
    picture = pictures().PICTURES[f"{name}.png"]
    table = picture.read()
    curve = table[table["index"].notna()]
    assert tuple(curve["right"]) == right
    (ax,) = picture.draw(table).axes
    line = ax.get_lines()[0]
    assert list(line.get_xdata()) == [1, 5, 10]
    assert list(line.get_ydata()) == pytest.approx(list(curve["right"] / curve["n"]), abs=5e-4)
    first, middle, last = right
    said = f"in {first} of 47" if name != "natural_questions" else f"{first}, {middle} and {last}"
    assert said in " ".join(PAGE.split())
