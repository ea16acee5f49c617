"""mLongRR in a user's language alone: a folder of texts and tables without a column of English."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from factories import configuration
from factories.answers import generations
from needlework.benchmarks.mlongrr import corpus, plan
from needlework.benchmarks.mlongrr import prompts as construct
from needlework.benchmarks.mlongrr import scores as scoring
from needlework.planning.config import validated
from needlework.planning.rule_inputs import RuleInputs
from needlework.prompts.spans import Documents, render
from needlework.prompts.tokenizers import load_tokenizer
from own_languages import LANGUAGES, LATIN

NONE = "उत्तर नहीं है"
QUESTIONS = {
    (1, "number"): "विशेष संख्या क्या है?",
    (2, "number"): "बड़ी विशेष संख्या क्या है?",
    (2, "city"): "किस नगर की विशेष संख्या बड़ी है?",
}


def _write(path: Path, rows: list[list[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


@pytest.fixture
def rows(tmp_path: Path) -> pa.Table:
    """The instances of a run in Hindi, as planning and jobs make them."""
    hindi = LANGUAGES["hi"]
    (tmp_path / "hi").mkdir()
    texts = [hindi.passage.format(town=town) for town in hindi.towns.split()]
    (tmp_path / "hi/text.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    _write(
        tmp_path / "needles.csv",
        [["lang", "wording", "needle"], ["hi", "", "{city} की विशेष संख्या {number} है।"]],
    )
    _write(tmp_path / "cities.csv", [["row", "hi"], *enumerate(hindi.towns.split())])
    _write(
        tmp_path / "prompts.csv",
        [
            ["prompt", "n_needles", "question", "lang", "asks", "unanswerable", "text"],
            *(
                ["translated", n, question, "hi", asks, NONE, f"{hindi.read}\n{{text}}\n\n{asks}"]
                for (n, question), asks in QUESTIONS.items()
            ),
        ],
    )
    tasks = [
        {"n": 1, "depths": [0], "questions": ["number"]},
        {"n": 2, "depths": [50], "questions": ["number", "city"]},
    ]
    own = {"languages": ["hi"], "prompts": ["translated"], "tasks": tasks, "lengths": [1500]}
    config = configuration("mlongrr", {**own, "absent": [1], "examples": 2})
    config["run"] = {"models": ["oracle"], "benchmarks": ["mlongrr"]}
    config["sources"] = {"mlongrr": {"folder": str(tmp_path)}}
    files = RuleInputs(validated(config))
    made = files.prompts.settings("mlongrr")
    settings = plan.settings(made, plan.slices(made)[0], [1500])
    read = {
        kind: {lang: corpus.table(name, lang, files.corpora.sources(name, lang), {})}
        for kind, [(name, lang)] in plan.reads(settings).items()
    }
    tokenizer = load_tokenizer("characters", {"kind": "characters"})
    built = construct.build(settings, read, [], tokenizer).instances
    documents = Documents()
    documents.add("mlongrr_articles/hi", read["haystack"]["hi"])
    shown = [render(prompt, documents) for prompt in built["prompt"].to_pylist()]
    return built.append_column("shown", pa.array(shown))


def _scores(rows: pa.Table, answer: Callable[[dict[str, Any]], str]) -> dict[str, set[float]]:
    given = generations(*((row["instance_id"], answer(row)) for row in rows.to_pylist()))
    found: dict[str, set[float]] = {}
    for row in scoring.score(rows, given, model="m", settings={}).to_pylist():
        found.setdefault(row["metric"], set()).add(row["value"])
    return found


def test_no_english_stands_in_prompts_and_answers(rows: pa.Table) -> None:
    for row in rows.to_pylist():
        text = "\n".join([row["shown"], *row["references"], row["cities"]])
        assert not LATIN.search(text), text


def test_answers_with_cities_of_one_language_are_scored(rows: pa.Table) -> None:
    right = _scores(rows, lambda row: f"{row['references'][0]}।")
    assert right["strict"] == right["careful"] == {1.0}

    def other(row: dict[str, Any]) -> str:
        towns = LANGUAGES["hi"].towns.split()
        return next(town for town in towns if town not in row["references"])

    wrong = _scores(rows, other)
    assert wrong["strict"] == wrong["careful"] == {0.0}
