"""What mLongRR's configuration asks for, and what is refused before any work."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from factories import ROOT, configuration, demo
from factories.mlongrr import settings
from needlework.benchmarks.mlongrr import plan
from needlework.errors import UserError
from needlework.given import given
from needlework.planning.config import validated
from needlework.planning.notices import decided
from needlework.planning.rule_inputs import RuleInputs

ONE = {"n": 1, "depths": [0], "questions": ["number"]}


def config(folder: str | None = None, **own: Any) -> dict:
    """The demo's configuration with a block of mLongRR alone."""
    made = configuration("mlongrr", own)
    made["run"] = {"models": ["oracle"], "benchmarks": ["mlongrr"]}
    if folder:
        made["sources"] = {"mlongrr": {"folder": folder}}
    return validated(made)


def test_the_papers_settings_are_the_default() -> None:
    """125, 100 and 100 prompts a model (Figures 4 and 6), and cities for two and three needles."""
    own = given(config()["benchmarks"]["mlongrr"])
    assert plan.slices(own) == [f"{x}-mlongrr-articles" for x in ("en", "vi", "id", "sw", "so")]
    kinds = list(plan.prompt_kinds(plan.Slice(**settings("en", own.lengths))))
    each = Counter({(1, "city"): 0})
    for kind in kinds:
        each[kind.n_needles, kind.question] += 25
    several = dict.fromkeys(product((2, 3), ("number", "city")), 100)
    assert each == {(1, "number"): 125, (1, "city"): 0, **several}
    cities = [kind for kind in kinds if kind.n_needles == 2 and kind.question == "city"]
    assert [kind.depth for kind in cities] == [0, 25, 50, 75]
    assert {kind.spread for kind in kinds if kind.n_needles > 1} == {25}


def test_a_further_haystack_has_the_languages_that_it_has() -> None:
    own = config(haystacks=["mlongrr_articles", "oneruler_books"])["benchmarks"]["mlongrr"]
    assert plan.slices(given(own))[5:] == [f"{x}-oneruler-books" for x in ("en", "vi", "sw")]


def test_only_the_needed_languages_are_fetched() -> None:
    files = RuleInputs(config(languages=["so"], source="released", tasks=[{**ONE, "n": 3}]))
    tables = files.prompts.slice_tables("mlongrr", "words", "so-mlongrr-articles")
    assert tables["released_3"] == ["mlongrr_released_three/so"]
    sources = files.corpora.sources("mlongrr_released_three", "so")
    needles = "mlongrr/Dataset/3-Needles/GPT4o/Somali_needles.csv"
    fetched = [path for path in sources if path.startswith("results/")]
    assert fetched == [f"results/sources/{needles}"]
    assert files.corpora.source_entry(needles)["size"] == 1679894


RELEASED = {"source": "released", "tasks": [ONE]}


TRANSLATED = {"prompts": ["translated"]}


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"languages": ["fr"]}, "has 'fr', but mlongrr_articles has az, en, id, so, sw, vi"),
        ({"languages": ["de"], "haystacks": ["oneruler_books"]}, "'de', which has no needle"),
        ({"tasks": [ONE, ONE]}, "has 1 needles twice"),
        ({"tasks": [{**ONE, "questions": ["city"]}]}, "the city of one needle"),
        ({"tasks": [{**ONE, "n": 2, "depths": [80]}]}, "would stand 105% deep"),
        ({"tasks": [ONE], "absent": [2]}, "absent has 2, which no task has"),
        ({"prompts": ["paper", "mine"]}, "no prompt 'mine'.*none of that name"),
        (
            TRANSLATED | {"languages": ["vi"]},
            "none of which asks for the number of 2 needles in 'vi': add `p",
        ),
        (
            TRANSLATED | {"tasks": [{**ONE, "n": 2}], "languages": ["vi"]},
            "no prompt 'translated' for 2 needles.*'vi'",
        ),
        ({"prompts": ["prompt2"], "tasks": [ONE], "absent": [1]}, "does not say what to answer"),
        (TRANSLATED | {"tasks": [ONE], "languages": ["en"]}, "are not translated"),
        ({"lengths": [50]}, "lengths has 50, and .*max_new_tokens"),
        (
            {**RELEASED, "tasks": [{**ONE, "depths": [0, 10]}, {**ONE, "n": 2}]},
            r"write `tasks: \[\{n: 1, depths: \[0\], questions: \[number\]\}\]`, or leave",
        ),
        ({**RELEASED, "absent": [1]}, r"write `absent: \[\]`, or leave"),
        (
            {"data": "sample", "languages": ["en"], "tasks": [{**ONE, "n": 13}]},
            "13 needles, but there are 12 cities",
        ),
    ],
)
def test_what_cannot_be_built_is_refused(own: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        config(**own)


def test_released_files_decide_what_they_are_made_of() -> None:
    asked = {**demo("mlongrr"), **RELEASED, "languages": ["en"], "lengths": [2000]}
    made = config(**asked)
    own = given(made["benchmarks"]["mlongrr"])
    assert plan.texts(own) == {"en-mlongrr-articles": ("mlongrr_articles", "en")}
    assert (own.data, own.examples, own.budget) == ("mlongrr", 1, "released")
    assert decided({"benchmarks": {"mlongrr": asked}}, given(made)) == [
        "benchmarks.mlongrr: other keys decide haystacks: [mlongrr_articles] (not [sample_books]), "
        "data: mlongrr (not sample), examples: 1 (not 2)."
    ]
    assert decided({"benchmarks": {"mlongrr": own}}, given(made)) == []


def test_all_that_the_released_files_lack_is_said_at_once() -> None:
    with pytest.raises(UserError) as said:
        config(**{**demo("mlongrr"), "source": "released"})
    written = dict(re.findall(r"`(\w+): ([^`]*)`", str(said.value)))
    assert set(written) == {"languages", "lengths", "tasks", "source"}
    # What the message says can be pasted.
    pasted = {key: yaml.safe_load(value) for key, value in written.items()}
    assert config(**pasted)["benchmarks"]["mlongrr"]["languages"] == ["en", "sw"]


def test_a_users_folder_brings_a_language(tmp_path: Path) -> None:
    (tmp_path / "fr").mkdir()
    (tmp_path / "fr/text.txt").write_text("Un. Deux. Trois.", encoding="utf-8")
    with pytest.raises(UserError, match="'fr', which has no needle"):
        config(str(tmp_path), languages=["fr"])
    (tmp_path / "needles.csv").write_text("lang,wording,needle\nfr,,{city} : {number}.\n")
    with pytest.raises(UserError, match="no names of cities in 'fr'"):
        config(str(tmp_path), languages=["fr"])
    rows = "".join(f"{i},City{i}x,Ville{i}x\n" for i in range(4))
    (tmp_path / "cities.csv").write_text("row,en,fr\n" + rows)
    files = RuleInputs(config(str(tmp_path), languages=["fr", "en"]))
    assert str(tmp_path / "fr/text.txt") in files.corpora.sources("mlongrr_articles", "fr")
    assert str(tmp_path / "needles.csv") in files.corpora.sources("mlongrr_needles", "fr")
    assert any("English" in path for path in files.corpora.sources("mlongrr_articles", "en"))
    assert files.facts.run_settings("mlongrr", "scores")["instructions"] == ["en", "fr"]
    assert RuleInputs(config()).facts.run_settings("mlongrr", "scores")["instructions"] == []


def test_the_preset_compares_no_other_revision_with_the_paper() -> None:
    preset = yaml.safe_load((ROOT / "presets/mlongrr.yaml").read_text(encoding="utf-8"))
    named = {entry["name"]: entry.get("published") for entry in preset["models"].values()}
    assert {name: model for name, model in named.items() if model} == {
        "NousResearch/Yarn-Llama-2-7b-128k": "YaRN-7b",
        "meta-llama/Meta-Llama-3-8B-Instruct": "Llama-3",
    }
