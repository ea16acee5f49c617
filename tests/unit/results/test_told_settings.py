"""A setting that moves a number is named where it differs from the paper's, or no verdict is given."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

import preset_runs
from needlework.benchmarks.benchmark import load_benchmark
from needlework.benchmarks.oneruler.factors import ARTICLES
from needlework.benchmarks.parts import names
from needlework.planning.json_schema import schema
from needlework.planning.rule_inputs import RuleInputs
from needlework.results import reproduction
from needlework.results.published import JUDGED
from needlework.results.result import Context

PLACE = ["table", "row", "column"]
# By benchmark, what its preset lacks for verdicts on the paper's numbers, and the models that are looked at
# (none: all, since the paper has means over them).
PRESETS: dict[str, tuple[str, tuple[str, ...]]] = {
    "mlneedle": (
        "{}",
        ("mistral-7b-instruct-v0.2", "mistral-7b-instruct-v0.2-greedy", "mistral-7b-v0.1"),
    ),
    "lost_in_the_middle": (
        "models: {gpt-3.5-turbo: {published: GPT-3.5-Turbo (16K)}}",
        ("mpt-30b-instruct", "gpt-3.5-turbo"),
    ),
    "oneruler": ("models: {gemini-flash: {published: Gemini 1.5 Flash}}", ()),
    "mlongrr": ("models: {gpt-4o: {published: GPT-4o}}", ("gpt-4o",)),
    "m4le": ("{}", ("llama-2-7b",)),
}
# By benchmark and key: another value (YAML), the reason that is then given, and the numbers that keep their
# verdict all the same (shell patterns of table/row/column).
Told = tuple[str, ...]
# The context that a model's makers claim is no score.
CLAIMED = "table1/*/claimed_length"
GREEDY = "*/Mistral-7B-Instruct-v0.2 (greedy)/*"
PAIRS = ("figure10/*", "text/*")


def named(place: str, values: Mapping[str, str], *kept: str) -> dict[str, Told]:
    """Keys whose own names are told."""
    return {f"{place}.{key}": (value, f"{key} is ", *kept) for key, value in values.items()}


def of_models(
    *kept: str, decoding: str = "sampling.temperature", value: str = "0.3"
) -> dict[str, Told]:
    """What is told of models in every benchmark."""
    return {
        "models.*.system": ("Answer in verse.", "a system prompt, in the paper none", *kept),
        "models.*.answer_prefix": ("Sure:", "a begun answer, in the paper none", *kept),
        "models.*.stop": ("[x]", "stop strings, in the paper none", *kept),
        f"models.*.{decoding}": (value, "decoding is temperature 0.3", *kept),
    }


def of_lengths(*kept: str) -> dict[str, Told]:
    """What is told where lengths are in tokens."""
    return {
        "models.*.tokenizer": ("words", "lengths are in words, in the paper tokens", *kept),
        "tokenizers.*.reserve": ("1900", "reserve is 1900, in the paper 0", *kept),
    }


OWN = "instructions of the user's own"
TOLD: dict[str, dict[str, Told]] = {
    "mlneedle": {
        **of_models(CLAIMED),
        **of_lengths(CLAIMED),
        "models.*.sampling.top_k": ("7", "top-k 7, ", CLAIMED, GREEDY),
        "models.*.sampling.top_p": ("0.5", "top-p 0.5, ", CLAIMED, GREEDY),
        **named(
            "benchmarks.mlneedle",
            {
                "needles": "xquad",
                "haystack": "xquad_paragraphs",
                "answer_languages": "[en, de]",
                "aligned": "true",
                "truncate_last": "false",
                "max_new_tokens": "5",
                "metric": "careful",
            },
            CLAIMED,
        ),
        "benchmarks.mlneedle.multilingual": (
            "[en, de]",
            "multilingual is de en, in the paper ar de en",
            # Haystacks in one language, and none.
            *(CLAIMED, "table2/*", "*/baseline"),
        ),
        "benchmarks.mlneedle.instructions": (
            "{en: {exact: '{passages} {question}'}}",
            *(OWN, CLAIMED),
        ),
        "sources.mlqa.split": ("dev", "mlqa_split is dev", CLAIMED),
        "sources.mmarco.passages": ("9000", "passages is 9000", CLAIMED),
        "retrieval.embedder": ("ngram", "embedder is ngram", CLAIMED),
        "retrieval.top": ("100", "top is 100", CLAIMED),
        "translation.translator": ("none", "translator is none", CLAIMED),
    },
    "lost_in_the_middle": {
        **of_models(),
        **named("benchmarks.lost_in_the_middle", {"metric": "careful", "max_new_tokens": "5"}),
        "benchmarks.lost_in_the_middle.needles": ("nq_gold", "corpus is nq_gold", *PAIRS),
        "benchmarks.lost_in_the_middle.instructions": ("{en: {pairs: '{pairs} {key}'}}", OWN),
    },
    "oneruler": {
        **of_models(),
        # The request leaves it to the endpoint.
        "models.*.sampling.temperature": ("0.3", "decoding is ", "*/o3-mini-high/*"),
        **of_lengths(),
        **named(
            "benchmarks.oneruler",
            {
                "data": "sample",
                "haystack": "sample_books",
                "multiquery_needles": "4",
                "max_new_tokens": "5",
            },
        ),
        "benchmarks.oneruler.cwe_frequencies": (
            "paper",
            "cwe_frequencies is paper",
            # Needles, and longer lists, in which both are the same.
            *("figure1*", "figure3/*", "figure4b/*", "figure6a/*", "lengths_tau/*"),
            "figure5/*/niah*",
        ),
        "benchmarks.oneruler.full_stops": (
            "{de: '!'}",
            OWN,
            # Numbers without German.
            *(f"figure{n}/*{lang}/*" for n in ("3", "4b") for lang in ARTICLES if lang != "de"),
            *("figure1b/*", "figure5/english/*", "figure6a/*"),
        ),
        "benchmarks.oneruler.wikipedia_articles": (
            "{pl: 20}",
            "other languages",
            *("figure1b/*", "figure3/*", "figure4b/*", "figure5/all/*", "figure5/english/*"),
            *("figure6a/*", "figure22/*", "lengths_tau/*"),
        ),
    },
    "mlongrr": {
        **of_models(decoding="request", value="{temperature: 0.3}"),
        **of_lengths(),
        **named(
            "benchmarks.mlongrr", {"data": "sample", "max_new_tokens": "5", "depth_rule": "gpt4"}
        ),
        "benchmarks.mlongrr.prompts": ("[prompt2]", "prompts is prompt2, in the paper paper"),
        "benchmarks.mlongrr.tasks.spread": ("5", "spread is 5, in the paper 25", "*/1 needle/*"),
    },
    "m4le": {
        **of_models(),
        "models.*.chat": ("true", "a chat template, in the paper none"),
        **named(
            "benchmarks.m4le", {"source": "sample", "release": "'2024'", "max_new_tokens": "types"}
        ),
        "benchmarks.m4le.reference": (
            "llama-2-7b",
            "reference is llama-2-7b",
            "table[0-9]*[0-9]/*",
            "table[789]/*",
        ),
    },
}
# By benchmark and column of scores: the keys that choose which of its values there are.
COLUMNS = {
    "mlneedle": {
        "needle_lang": "needle_languages",
        "haystack_lang": "haystack_languages",
        "question_lang": "question_lang",
        "length": "lengths",
        "position": "positions",
        "retrieval": "retrieval",
        "task": "tasks",
    },
    "lost_in_the_middle": {
        "lang": "languages key_languages",
        "task": "tasks",
        "n_documents": "n_documents.n open_domain n_pairs.n",
        "gold_index": "n_documents.gold_indices n_pairs.indices",
        "query_aware": "query_aware query_aware_pairs",
        "order": "random_order",
        "distractors": "random_distractors",
        "keys": "keys",
    },
    "oneruler": {
        "context_lang": "languages",
        "instruction_lang": "cross_lingual",
        "task": "tasks cross_lingual_tasks without_none_tasks",
        "length": "lengths",
        "none_option": "none_option without_none_languages",
        "metric": "metric",
    },
    "mlongrr": {
        "haystack": "haystacks",
        "lang": "languages",
        "length": "lengths",
        "n_needles": "tasks.n",
        "depth": "tasks.depths",
        "question": "tasks.questions",
        "task": "absent",
        "metric": "metric",
    },
    "m4le": {
        "task": "tasks skip_missing",
        "length": "lengths",
        "metric": "metric",
    },
}
# Keys that move no number that a paper prints, and why.
SIZE = "how many questions are drawn: it widens intervals, and captions say it"
PAIRED = "which models are compared"
RELEASED = "not with the released rows, the only ones that are compared"
FREE: dict[str, dict[str, str]] = {
    "mlneedle": {
        "questions": SIZE,
        "needle_absent": "prompts of their own, beside none of the paper's numbers",
        "strip_context": "the paper is silent, and its code does either",
        "comparisons.instruction_tuning": PAIRED,
        "comparisons.decoding": PAIRED,
    },
    "lost_in_the_middle": {
        "questions": SIZE,
        "examples": SIZE,
        "source": "both make the same prompts, and drawn pairs are as hard as released ones",
        "haystack": "not with the paper's needles",
        "random_from": "the paper prints no number of random distractors",
        "words": "the paper has UUIDs",
        "comparisons.instruction_tuning": PAIRED,
        "comparisons.encoder_decoder": PAIRED,
    },
    "oneruler": {
        "examples": SIZE,
        "none_words": "read by the strict rules, and the released ones are compared",
        "answer_tags": "read by the strict rules, and the released ones are compared",
        "comparisons.equal_text": PAIRED,
        "comparisons.reasoning": PAIRED,
    },
    "mlongrr": {
        "examples": SIZE,
        "source": "the paper's own haystacks, or its rules",
        "wording": "the paper has one and its released files the other",
        "budget": "the paper has one and its released files the other",
    },
    "m4le": {
        **dict.fromkeys(("examples", "folder", "records", "instructions"), RELEASED),
        **{f"positions.{key}": RELEASED for key in ("places", "candidates", "examples")},
        "closed_book": "prompts of their own, beside none of the paper's numbers",
    },
}
SECTIONS = (
    *("run", "sources", "corpora", "retrieval", "embedders", "tokenizers", "models"),
    *("translation", "translators"),
)
# Their keys, by why they move no number that a paper prints.
SHARED = {
    "`published` says that all of this is the paper's model, and how it is asked": {
        *("models.*.published", "models.*.backend", "models.*.name", "models.*.revision"),
        *("models.*.lora", "models.*.config", "models.*.dtype"),
        *("models.*.rope_scaling.rope_type", "models.*.rope_scaling.factor", "models.*.args"),
        *("models.*.engine.tensor_parallel_size", "models.*.engine.pipeline_parallel_size"),
        *("models.*.trust_remote_code", "models.*.chat_template", "models.*.template"),
        *("models.*.reasoning.max_tokens", "models.*.reasoning.effort"),
        *("models.*.reasoning.end", "models.*.thoughts.begin", "models.*.thoughts.end"),
        *("models.*.answers", "models.*.context"),
        *("tokenizers.*.kind", "tokenizers.*.name", "tokenizers.*.encoding"),
        *("tokenizers.*.version", "tokenizers.*.revision", "tokenizers.*.ignore_merges"),
        "tokenizers.*.trust_remote_code",
    },
    "they are drawn by seed, of which the papers say nothing": {
        *("run.seed", "models.*.samples", "models.*.sampling.seed", "sources.mmarco.pool")
    },
    "captions say which part was asked": {"models.*.only", "models.*.lengths", "run.models"},
    "they ask for less, or for more besides, and change no answer": {
        *("run.benchmarks", "run.tokenizers", "run.notice", "run.doctor.model"),
        *("run.doctor.against", "run.doctor.fail_if_worse_by", "run.limit"),
        "retrieval.similarity",
        *("models.*.repeatable", "models.*.variant", "models.*.max_failed"),
    },
    "their names are told": {
        *("embedders.*.kind", "embedders.*.name", "embedders.*.revision"),
        *("translators.*.kind", "translators.*.name", "translators.*.revision"),
        *(f"corpora.*.{key}" for key in ("kind", "separator", "rows")),
        *(
            f"corpora.*.columns.{key}"
            for key in ("id", "title", "text", "context", "question", "answers", "label", "parts")
        ),
        *(
            f"corpora.*.languages.*.{key}"
            for key in ("name", "revision", "subset", "split", "files")
        ),
    },
}


@cache
def preset(benchmark: str) -> RuleInputs:
    return preset_runs.layout(benchmark, PRESETS[benchmark][0])


@cache
def scores(benchmark: str) -> pd.DataFrame:
    rows = preset_runs.MADE[benchmark](preset(benchmark))["scores"]
    models = PRESETS[benchmark][1]
    return rows[rows["model"].isin(models)] if models else rows


def judged(benchmark: str, rows: pd.DataFrame, run: Mapping[str, Any]) -> pd.DataFrame:
    """What a run says of each printed number (`reproduction.COLUMNS`), by the number's place."""
    paper = preset_runs.context(preset(benchmark), benchmark, "published").published
    if "template" in rows:
        # The first prompt of the configuration.
        rows = rows.replace({"template": {"paper": run["template"]}})
    results = load_benchmark(benchmark).by_name
    made = {
        name: results[name](rows, Context(paper, run))
        for name in preset_runs.ALL_NUMBERS[benchmark]
    }
    return reproduction.reproduced(benchmark, paper, made, [], {}).set_index(PLACE)


@cache
def usual(benchmark: str) -> pd.DataFrame:
    """The verdicts of the paper's own settings."""
    run = preset(benchmark).facts.run_settings(benchmark, "scores")
    found = judged(benchmark, scores(benchmark), run)
    return found[found["verdict"].isin(JUDGED)]


def changed(benchmark: str, values: Mapping[str, str]) -> RuleInputs:
    """The preset with other values of these keys; `*` is every name that the configuration has there."""
    config = copy.deepcopy(preset(benchmark).config)
    for key, value in values.items():
        *path, last = key.split(".")
        blocks = [config]
        for name in path:
            blocks = [own for b in blocks for own in (b.values() if name == "*" else [b[name]])]
            blocks = [own for b in blocks for own in (b if isinstance(b, list) else [b])]
        for block in blocks:
            block[last] = yaml.safe_load(value)
    return RuleInputs(config)


# By benchmark and the numbers that keep their verdict: the keys with which these do. A reason stands beside
# those of other keys as it stands alone, so one run has another value of each.
TOGETHER: dict[tuple[str, Told], list[str]] = {}
for _benchmark, _own in TOLD.items():
    for _key, (_, _, *_kept) in _own.items():
        TOGETHER.setdefault((_benchmark, tuple(_kept)), []).append(_key)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("benchmark", "kept"), TOGETHER, ids=[f"{b}-{own[0]}" for (b, _), own in TOGETHER.items()]
)
def test_a_differing_setting_is_named_where_verdicts_were(benchmark: str, kept: Told) -> None:
    own = {key: TOLD[benchmark][key] for key in TOGETHER[benchmark, kept]}
    values = {key: value for key, (value, *_) in own.items()}
    run = changed(benchmark, values).facts.run_settings(benchmark, "scores")
    found = judged(benchmark, scores(benchmark), run).loc[usual(benchmark).index]
    places = found.index.map("/".join)
    keeps = np.array([any(fnmatchcase(p, pattern) for pattern in kept) for p in places])
    assert not keeps.all()
    assert not [*places[keeps & ~found["verdict"].isin(JUDGED)]]
    assert not [*places[~keeps & found["verdict"].isin(JUDGED)]]
    told = found[~keeps]["reason"]
    for key, (_, reason, *_) in own.items():
        assert told.str.contains(reason, regex=False).all(), (key, set(told))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("benchmark", "column"), [(b, c) for b, own in COLUMNS.items() for c in own]
)
def test_a_verdict_is_of_all_rows_that_the_paper_has(benchmark: str, column: str) -> None:
    """Where a run lacks some, a number of others has none. Of places and lengths both ends are left out."""
    rows, run = scores(benchmark), preset(benchmark).facts.run_settings(benchmark, "scores")
    values = rows[column].dropna().unique()
    ordered = column in ("length", "position", "depth", "gold_index", "n_documents", "n_needles")
    for value in dict.fromkeys((values[0], values[-1]) if ordered else values[-1:]):
        found = judged(benchmark, rows[rows[column] != value], run)
        found = found[found["verdict"].isin(JUDGED)]
        expected = usual(benchmark)["value"].reindex(found.index)
        assert np.allclose(found["value"].astype(float), expected.astype(float)), (column, value)


def keys(node: Mapping[str, Any], place: str, affects: str) -> Iterator[tuple[str, str]]:
    """Every key below a part of the schema, with what it affects; lists and named entries count as blocks."""
    affects = node.get("affects", affects)
    parts = [node, *(node.get(name) for name in ("items", "additionalProperties"))]
    parts = [part for part in parts if isinstance(part, dict)]
    parts += [one for part in parts for one in part.get("oneOf", ())]
    found = {}
    for part in parts:
        star = (
            ".*"
            if part is not node and "items" not in node and node.get("type") == "object"
            else ""
        )
        for name, child in part.get("properties", {}).items():
            found |= dict(keys(child, f"{place}{star}.{name}", part.get("affects", affects)))
    yield from found.items() if found else [(place, affects)]


def test_every_key_is_told_or_moves_no_number() -> None:
    """A new key is in none of these tables: it fails here."""
    top, quiet = schema()["properties"], {"speed", "place", "nothing", "files"}
    told = {key for own in TOLD.values() for key in own}
    shared = {
        key
        for section in SECTIONS
        for key, affects in keys(top[section], section, "")
        if affects not in quiet
    }
    listed = set().union(*SHARED.values())
    assert shared - told == listed, (shared - told) ^ listed
    for benchmark in names():
        place = f"benchmarks.{benchmark}"
        own = {key for key, _ in keys(top["benchmarks"]["properties"][benchmark], place, "")}
        rows = " ".join(COLUMNS[benchmark].values()).split()
        mine = {f"{place}.{key}" for key in (*rows, *FREE[benchmark])}
        mine |= {key for key in TOLD[benchmark] if key.startswith(f"{place}.")}
        assert own == mine, own ^ mine
