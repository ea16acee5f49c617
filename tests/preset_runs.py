"""Full runs of the papers' presets that no model made: scores drawn by seed around the printed numbers.

There are no prompts: of each cell of the paper's settings there are some rows, of which a share near the
printed one is right. Token counts are made up.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import yaml

import factories.lost_in_the_middle
import factories.m4le
import factories.mlneedle
import factories.mlongrr
import factories.oneruler
from needlework.benchmarks.m4le.data.tasks import PAPER_BUCKETS, PRINTED, TASKS
from needlework.benchmarks.m4le.factors import TABLES
from needlework.planning.chosen import lengths_of
from needlework.planning.config import validated
from needlework.planning.layers import layered
from needlework.planning.rule_inputs import RuleInputs
from needlework.results import published
from needlework.results.result import Context, Needs

ROOT = Path(__file__).resolve().parents[1]
DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
Frames = Mapping[Needs, pd.DataFrame]
# Answers of a cell of M4LE, and what a model scores where the paper prints nothing.
EACH, USUAL = 5, 0.5
# The results of scores that have all of the paper's numbers.
ALL_NUMBERS = {
    "mlneedle": ["table1", "table2", "table3", "table4"],
    "lost_in_the_middle": ["table1", "table5", "table6", "table7", "figure10", "figure12"],
    "oneruler": [
        *("lengths_tau", "figure1a", "figure1b", "figure3", "figure4b", "figure5", "figure6a"),
        "figure22",
    ],
    "mlongrr": ["accuracy"],
    "m4le": ["table3", "table4", "table5", "table6", "tasks", "figure3_slopes"],
}
# The files beside a preset that docs/fidelity.md shows, by their benchmark.
_PAGE = (ROOT / "docs/fidelity.md").read_text(encoding="utf-8")
BESIDE = {
    next(iter(yaml.safe_load(text)["benchmarks"])): text
    for text in re.findall(r"^```yaml\n(.*?)^```", _PAGE, flags=re.M | re.S)
}


@cache
def layout(name: str, changes: str = "") -> RuleInputs:
    """A preset, laid over the default configuration; then `changes` (YAML)."""
    preset = yaml.safe_load((ROOT / f"presets/{name}.yaml").read_text("utf-8"))
    return RuleInputs(validated(layered(DEFAULT, [preset, yaml.safe_load(changes) or {}])))


def context(files: RuleInputs, benchmark: str, needs: Needs) -> Context:
    """What a preset's numbers are made with."""
    return Context(_printed(benchmark), files.facts.run_settings(benchmark, needs))


@cache
def _printed(benchmark: str) -> pd.DataFrame:
    return published.load(ROOT / f"resources/published/{benchmark}.csv")


def _names(files: RuleInputs) -> dict[str, str]:
    """What the paper calls each model of the preset; its own name where it has none."""
    models = files.config["models"]
    return {name: models[name]["published"] or name for name in files.config["run"]["models"]}


def mlneedle(files: RuleInputs) -> Frames:
    """Every needle language, haystack language, position and length."""
    paper = context(files, "mlneedle", "scores")
    means: dict[str, dict[int, float]] = {}
    for model, name in _names(files).items():
        line = {
            column: number.value
            for table in ("table4", "table3", "table1")
            for column, number in paper.line(table, name).items()
        }
        lengths = lengths_of(files.config, model, "mlneedle")
        means[model] = {0: line.get("baseline", USUAL)}
        means[model] |= {length: line.get(str(length), 0.1) for length in lengths}
    with patch.object(factories.mlneedle, "MEANS", means):
        return {"scores": factories.mlneedle.make(tuple(means), 3)}


def lost_in_the_middle(files: RuleInputs) -> Frames:
    """All tasks, sizes, positions and ablations; and the lengths of as many prompts as the paper has."""
    paper = context(files, "lost_in_the_middle", "scores")
    shapes = {}
    for model, name in _names(files).items():
        line = {c: number.value for c, number in paper.line("table6", name).items()}
        start, middle, end = (line.get(index, USUAL) for index in ("0", "9", "19"))
        shapes[model] = (start, max(0.0, start - middle), start - end)
    own = factories.lost_in_the_middle
    with patch.object(own, "MODELS", shapes):
        scores = own.make(tuple(shapes), 12)
    tokenizers = ("cl100k_base", "mpt")
    # All questions, and of key-value pairs half as many as that.
    lengths = [own.lengths(number, tokenizers) for number in (2655, 1000)]
    pairs = [frame["task"] == "key_value" for frame in lengths]
    whole = pd.concat([lengths[0][~pairs[0]], lengths[1][pairs[1]]], ignore_index=True)
    return {"scores": scores, "instances": whole}


def oneruler(files: RuleInputs) -> Frames:
    """All tasks, languages, lengths and pairs of languages."""
    skills = {model: (0.97 - 0.01 * i, 0.03) for i, model in enumerate(_names(files))}
    own = factories.oneruler
    with patch.object(own, "MODELS", skills):
        scores = own.make(tuple(skills), tuple(own.LANGS), own.LENGTHS, 2)
    # Needles as often as Figure 3 has it.
    paper, rng = context(files, "oneruler", "scores"), np.random.default_rng(0)
    shares = {
        (model, lang, length): number.value
        for model, name in _names(files).items()
        for lang, length in product(own.LANGS, own.LENGTHS)
        if (number := paper.find("figure3", f"{name}/{lang}", str(length)))
    }
    cells = zip(scores["model"], scores["context_lang"], scores["length"], strict=True)
    share = pd.Series([shares.get(cell, math.nan) for cell in cells], scores.index)
    drawn = share.notna() & scores["task"].str.startswith("niah") & (scores["verdict"] != "length")
    scores.loc[drawn, "value"] = (rng.random(drawn.sum()) < share[drawn]).astype(float)
    tokenizers = tuple(files.prompts.tokenizers)
    return {
        "scores": scores,
        "token_counts": own.token_counts(tokenizers),
        "books": own.books(tokenizers),
    }


def mlongrr(files: RuleInputs) -> Frames:
    """All lengths, languages, needles and depths; the essays and the second prompt of one needle."""
    own, asked = factories.mlongrr, files.prompts.settings("mlongrr")
    with (
        patch.object(own, "MODELS", dict.fromkeys(_names(files), 0.8)),
        patch.object(own, "LANGS", tuple(asked["languages"])),
        patch.object(own, "DEPTHS", {task["n"]: task["depths"] for task in asked["tasks"]}),
        patch.dict(own.FERTILITY, az=1.7),
    ):
        news, one = own.make(), own.make(1)
    one = one[one["n_needles"] == 1]
    essays = one[one["lang"] == "en"].assign(haystack="paul_graham_essays")
    scores = pd.concat([news, essays, one.assign(template="prompt2")], ignore_index=True)
    model = news["model"].iloc[0]
    prompts = news[(news["metric"] == "strict") & (news["model"] == model)].assign(
        sentences=33, sentences_before=8, real_depth=24.0, haystack_tokens=1800
    )
    instances = [prompts.assign(tokenizer=name) for name in files.prompts.tokenizers]
    return {"scores": scores, "instances": pd.concat(instances, ignore_index=True)}


def m4le(files: RuleInputs) -> Frames:
    """All tasks and lengths of which the paper prints a number, by both metrics."""
    paper, rng = context(files, "m4le", "scores"), np.random.default_rng(0)
    made: list[dict[str, Any]] = []
    lengths: list[dict[str, Any]] = []
    for model, name in _names(files).items():
        for (task, table), bucket in product(TABLES.items(), PAPER_BUCKETS):
            number = paper.find(table, f"{name}/{PRINTED.get(task, task)}", str(bucket))
            if paper.find(table, f"GPT-3.5-Turbo-16K/{PRINTED.get(task, task)}", str(bucket)):
                share = USUAL if number is None else number.value
                made += list(_answers_of_m4le(task, bucket, model, share, rng))
    for task in TASKS.values():
        own = {"ability": task.ability, "task": task.name, "lang": task.lang, "length": 1000}
        lengths.append({**own, "task_type": task.task_type, "units": 900, "tokenizer": "llama2"})
    return {"scores": pd.DataFrame(made), "instances": pd.DataFrame(lengths)}


def _answers_of_m4le(
    task: str, bucket: int, model: str, share: float, rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """A cell's answers by both metrics; BLEU's of so many n-grams of a thousand."""
    values = (rng.random(EACH) < share).astype(float).tolist()
    own: dict[str, Any] = {"model": model}
    if TASKS[task].metric == "bleu":
        right = max(1, int(rng.binomial(1000, share)))
        own["bleu_statistics"] = [right] * 4 + [1000] * 4 + [1000, 1000]
    for metric in ("paper", "released"):
        yield from factories.m4le.rows(task, bucket, values, **{**own, "metric": metric})


MADE = {made.__name__: made for made in (mlneedle, lost_in_the_middle, oneruler, mlongrr, m4le)}
