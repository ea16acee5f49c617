"""Every prompt's `n_tokens` is what its text has as a whole, for each tokenizer and benchmark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import factories.lost_in_the_middle as lim
import prompt_sets
from factories import configuration, demo
from made_slices import Made, table
from needlework.benchmarks.m4le.data.tasks import TASKS
from needlework.planning.config import validated
from needlework.planning.rule_inputs import RuleInputs
from needlework.prompts.spans import render
from needlework.prompts.tokenizers import Tokenizer
from tokenizers_made import NAMES, PACKAGED

# Instances, and the documents that their prompts refer to.
Built = Iterable[tuple[pa.Table, Mapping[str, str]]]


def slices(
    benchmark: str,
    config: Any,
    read: Callable[[str, str], pa.Table],
    lengths: list[int],
    tokenizer: Tokenizer,
) -> Built:
    """The slices of a benchmark's block, of tables by corpus and language."""
    plan = import_module(f"needlework.benchmarks.{benchmark}.plan")
    for name in plan.slices(config):
        settings = plan.settings(config, name, lengths)
        tables = {
            kind: {lang: read(corpus, lang) for corpus, lang in wanted}
            for kind, wanted in plan.reads(settings).items()
        }
        tables["distractors"] = {
            lang: prompt_sets.ranking(lang, tables["questions"][lang], tables["passages"][lang])
            for lang in getattr(plan, "searches", lambda settings: [])(settings)
        }
        made = Made(benchmark, settings, tables, tokenizer)
        yield made.built.instances, made.documents


ONERULER = {"lengths": [6000], "examples": 1}
# Changes of the demo's block, by benchmark and where its data are.
RUNS: dict[str, dict[str, Any]] = {
    "lost_in_the_middle-sample": {"examples": 2, "query_aware": [10], "query_aware_pairs": [75]},
    "oneruler-sample": ONERULER,
    "oneruler-mirror": {
        **{**ONERULER, "data": "oneruler", "languages": ["ja", "pl", "hi"]},
        "cross_lingual": [["hi", "vi"]],
    },
    "mlongrr-sample": {"lengths": [1500]},
    "mlongrr-mirror": {
        **{"lengths": [1500], "data": "mlongrr", "languages": ["en", "vi"]},
        "haystacks": ["mlongrr_articles"],
    },
    "m4le-sample": {"lengths": [500, 1000]},
    "m4le-mirror": {
        **{"lengths": [1000, 2000, 4000, 6000, 8000], "tasks": [*TASKS][::4]},
        **{"source": "released", "positions": {"places": 0}},
    },
}
# Each tokenizer has a set of prompts; packaged ones, which are quick, have the sample's.
TOKENIZERS = {
    **{"mlneedle-sample": ["words", "deepseek"], "mlneedle-mirror": ["o200k_base"]},
    **{"lost_in_the_middle-sample": ["mistral-v1"], "lost_in_the_middle-mirror": ["gpt-2"]},
    **{"oneruler-sample": ["tekken", "llama-3"], "oneruler-mirror": ["cl100k_base"]},
    **{"mlongrr-sample": ["mistral-v3"], "mlongrr-mirror": ["llama-2"]},
    **{"m4le-sample": ["characters"], "m4le-mirror": ["qwen-2"]},
}
PAIRS = [(chosen, name) for chosen, own in TOKENIZERS.items() for name in own]


def built(chosen: str, mirror: Path | None, folder: Path, tokenizer: Tokenizer) -> Built:
    benchmark = chosen.partition("-")[0]
    if benchmark == "mlneedle":
        build = partial(prompt_sets.mirror_set, mirror) if mirror else prompt_sets.sample_set
        made = build([1200], 1, tokenizer)
        return [(instances, made.documents) for instances in made.tables]
    if chosen in RUNS:
        own = RUNS[chosen]
        files = RuleInputs(validated(configuration(benchmark, demo(benchmark) | own)))
        read = cache(partial(table, files, mirror=mirror))
        config = files.prompts.settings(benchmark)
        return slices(benchmark, config, read, own.get("lengths", []), tokenizer)
    corpora = lim.corpora(lim.stand_ins(mirror, folder, 10, distinct=True))
    config = lim.block(random_from="other_questions", examples=1, questions=2)
    return slices(benchmark, config, lambda corpus, lang: corpora[corpus], [], tokenizer)


@pytest.mark.parametrize(
    ("chosen", "name"),
    [pytest.param(*pair, marks=[pytest.mark.slow] * (pair[1] not in PACKAGED)) for pair in PAIRS],
)
def test_every_prompt_has_the_tokens_of_its_text(chosen, name, named_tokenizer, tmp_path, request):
    assert {name for _, name in PAIRS} == set(NAMES)
    tokenizer = named_tokenizer(name)
    assert tokenizer.proof is not None
    mirror = request.getfixturevalue("mirror") if chosen.endswith("mirror") else None
    n = 0
    for instances, documents in built(chosen, mirror, tmp_path, tokenizer):
        for row in instances.select(["prompt", "n_tokens"]).to_pylist():
            assert tokenizer.count(render(row["prompt"], documents)) == row["n_tokens"]
            n += 1
    assert n > 30
