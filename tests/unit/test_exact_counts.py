"""Every prompt's `n_tokens` is what its text has as a whole, for each tokenizer and benchmark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import factories.lost_in_the_middle
import factories.m4le
import factories.mlongrr
import factories.oneruler
import prompt_sets
from factories import ROOT, configuration, demo, templates
from needlework.benchmarks.lost_in_the_middle import plan as lost_in_the_middle_plan
from needlework.benchmarks.lost_in_the_middle import prompts as lost_in_the_middle
from needlework.benchmarks.m4le import corpus as m4le_corpora
from needlework.benchmarks.m4le import plan as m4le_plan
from needlework.benchmarks.m4le import prompts as m4le
from needlework.benchmarks.m4le.data.tasks import TASKS
from needlework.benchmarks.mlongrr import plan as mlongrr_plan
from needlework.benchmarks.mlongrr import prompts as mlongrr
from needlework.benchmarks.oneruler import corpus as oneruler_corpora
from needlework.benchmarks.oneruler import plan as oneruler_plan
from needlework.benchmarks.oneruler import prompts as oneruler
from needlework.contract import Built
from needlework.data.corpora import sample
from needlework.planning.config import validated
from needlework.planning.rule_inputs import RuleInputs
from needlework.prompts.spans import Documents, numbered, render
from needlework.prompts.tokenizers import Tokenizer
from tokenizers_made import NAMES

# A pattern's proof and a vocabulary's; the others take minutes.
QUICK = ("tekken", "mistral-v1")
Build = Callable[[Tokenizer], Iterator[tuple[pa.Table, Mapping[str, str]]]]


def documents_of(
    tables: Mapping[str, Mapping[str, pa.Table]],
    corpora: Mapping[str, Any],
    built: Built,
    name: str,
) -> dict[str, str]:
    """What the prompts of a slice refer to."""
    documents = Documents()
    for kind, wanted in corpora.items():
        for corpus, lang in wanted:
            columns = tables[kind][lang].column_names
            if "passage_id" in columns or "context" in columns:
                documents.add(f"{corpus}/{lang}", tables[kind][lang])
    found = dict(documents)
    if built.documents is not None:
        for row in built.documents.to_pylist():
            text = row["text"] if row["words"] is None else numbered(row["words"])
            found[f"{name}/{row['passage_id']}"] = text
    return found


def configured(benchmark: str, **own: Any) -> dict[str, Any]:
    config = configuration(benchmark, demo(benchmark) | own)
    return RuleInputs(validated(config)).prompts.settings(benchmark)


def of_oneruler(config: dict, lengths: list[int], read: Callable[[Any], Any]) -> Build:
    def build(tokenizer: Tokenizer) -> Iterator[tuple[pa.Table, Mapping[str, str]]]:
        for name in oneruler_plan.slices(config):
            slice_settings = oneruler_plan.settings(config, name, lengths)
            corpora = oneruler_plan.reads(slice_settings)
            tables = read(corpora)
            built = oneruler.build(slice_settings, tables, [], tokenizer)
            yield built.instances, documents_of(tables, corpora, built, f"oneruler/{name}")

    return build


def sample_of_oneruler(corpora: Mapping[str, Any]) -> dict[str, dict[str, pa.Table]]:
    folder = ROOT / "resources/sample/oneruler"

    def files(corpus: str, lang: str) -> list[str]:
        own = {"books": ["book.txt"], "words": ["words.csv"], "prompts": ["cwe.txt", "niah.json"]}
        kind = corpus.removeprefix("sample_")
        paths = [folder / lang / name for name in own.get(kind, [])] or [folder / "nouns.tsv"]
        return [str(path) for path in paths]

    return {
        kind: {
            lang: oneruler_corpora.table(corpus, lang, files(corpus, lang), {})
            for corpus, lang in wanted
        }
        for kind, wanted in corpora.items()
    }


def of_lost_in_the_middle(config: dict, corpora: Mapping[str, pa.Table]) -> Build:
    plan = lost_in_the_middle_plan
    files = templates(plan.NAME)

    def build(tokenizer: Tokenizer) -> Iterator[tuple[pa.Table, Mapping[str, str]]]:
        for name in plan.slices(config):
            slice_settings = plan.settings(config, name, [])
            wanted = plan.reads(slice_settings)
            tables = {
                kind: {lang: corpora[f"{corpus}/{lang}"] for corpus, lang in found}
                for kind, found in wanted.items()
            }
            if config["source"] == "constructed":
                tables["distractors"] = {lang: corpora[f"found/{lang}"] for lang in ("en", "zh")}
            built = lost_in_the_middle.build(slice_settings, tables, files, tokenizer)
            yield (
                built.instances,
                documents_of(tables, wanted, built, f"lost_in_the_middle/{name}"),
            )

    return build


def sample_of_lost_in_the_middle() -> Build:
    files = sorted(str(path) for path in (ROOT / "resources/sample").glob("*.json"))
    corpora = {
        f"{corpus}/{lang}": sample.table(corpus, lang, files, {})
        for corpus in ("sample_questions", "sample_passages")
        for lang in ("en", "zh")
    }
    for lang in ("en", "zh"):
        tables = (corpora[f"sample_{kind}/{lang}"] for kind in ("questions", "passages"))
        corpora[f"found/{lang}"] = prompt_sets.ranking(lang, *tables)
    words = ROOT / "resources/sample/oneruler/en/words.csv"
    corpora["sample_words/en"] = oneruler_corpora.table("sample_words", "en", [str(words)], {})
    config = configured("lost_in_the_middle", examples=2, query_aware=[10], query_aware_pairs=[75])
    return of_lost_in_the_middle(config, corpora)


def mirror_of_lost_in_the_middle(mirror: Path, folder: Path) -> Build:
    data = factories.lost_in_the_middle
    made = data.stand_ins(mirror, folder, 10, distinct=True)
    corpora = {f"{name}/en": table for name, table in data.corpora(made).items()}
    config = data.block(random_from="other_questions", examples=2, questions=4)
    return of_lost_in_the_middle(config, corpora)


def of_mlneedle(build: Callable[..., prompt_sets.PromptSet], *arguments: Any) -> Build:
    def built(tokenizer: Tokenizer) -> Iterator[tuple[pa.Table, Mapping[str, str]]]:
        made = build(*arguments, [1200], 3, tokenizer)
        for table in made.tables:
            yield table, made.documents

    return built


def of_mlongrr(languages: list[str], mirror: Path | None = None, **own: Any) -> Build:
    def build(tokenizer: Tokenizer) -> Iterator[tuple[pa.Table, Mapping[str, str]]]:
        for lang in languages:
            chosen = factories.mlongrr.settings(lang, [1500], examples=2, **own)
            tables = factories.mlongrr.tables(chosen, mirror)
            built = mlongrr.build(chosen, tables, [], tokenizer)
            corpora = {"haystack": mlongrr_plan.reads(chosen)["haystack"]}
            yield built.instances, documents_of(tables, corpora, built, f"mlongrr/{lang}")

    return build


def of_m4le(config: dict, rows: Mapping[str, pa.Table]) -> Build:
    def build(tokenizer: Tokenizer) -> Iterator[tuple[pa.Table, Mapping[str, str]]]:
        for slug, table in rows.items():
            chosen = m4le_plan.settings(config, slug, config["lengths"])
            tables = {"rows": {slug: table}}
            built = m4le.build(chosen, tables, [], tokenizer)
            corpora = m4le_plan.reads(chosen)
            yield built.instances, documents_of(tables, corpora, built, f"m4le/{slug}")

    return build


def mirror_of_m4le(mirror: Path) -> Build:
    buckets = [1000, 2000, 4000, 6000, 8000]
    config = configured("m4le", source="released", lengths=buckets, positions={"places": 0})
    rows = {
        task.slug: m4le_corpora.table(
            m4le_plan.corpus(config),
            task.slug,
            [str(factories.m4le.FRAMES_FILE), str(mirror / "m4le" / task.file)],
            m4le_plan.corpus_settings(config, task.slug),
        )
        for task in list(TASKS.values())[::4]
    }
    return of_m4le(config, rows)


def mirror_of_oneruler(mirror: Path) -> Build:
    languages = {"languages": ["ja", "pl", "hi"], "cross_lingual": [["hi", "vi"]]}
    config = configured("oneruler", data="oneruler", examples=1, **languages)
    return of_oneruler(config, [6000], lambda read: factories.oneruler.tables(mirror, read))


SETS: dict[tuple[str, str], Callable[[Any, Path], Build]] = {
    ("mlneedle", "sample"): lambda *_: of_mlneedle(prompt_sets.sample_set),
    ("mlneedle", "mirror"): lambda mirror, _: of_mlneedle(prompt_sets.mirror_set, mirror),
    ("lost_in_the_middle", "sample"): lambda *_: sample_of_lost_in_the_middle(),
    ("lost_in_the_middle", "mirror"): mirror_of_lost_in_the_middle,
    ("oneruler", "sample"): lambda *_: of_oneruler(
        configured("oneruler", examples=1), [6000], sample_of_oneruler
    ),
    ("oneruler", "mirror"): lambda mirror, _: mirror_of_oneruler(mirror),
    ("mlongrr", "sample"): lambda *_: of_mlongrr(
        ["en", "sw", "zh"], haystacks=["sample_books"], data="sample"
    ),
    ("mlongrr", "mirror"): lambda mirror, _: of_mlongrr(["en", "vi"], mirror),
    ("m4le", "sample"): lambda *_: of_m4le(configured("m4le"), {"sample": factories.m4le.sample()}),
    ("m4le", "mirror"): lambda mirror, _: mirror_of_m4le(mirror),
}


@pytest.fixture(scope="module")
def build_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Build]:
    """What builds the prompts of a set, which is made once."""

    @cache
    def make(chosen: tuple[str, str], mirror: Path | None) -> Build:
        return SETS[chosen](mirror, tmp_path_factory.mktemp("stand-ins"))

    return make


def pairs() -> Iterator[Any]:
    """Each set with two tokenizers and a fifth of the others, so that each of these has two sets."""
    for i, chosen in enumerate(SETS):
        for j, name in enumerate(NAMES):
            if name in QUICK:
                yield pytest.param(name, chosen)
            elif (i + j) % 5 == 0:
                yield pytest.param(name, chosen, marks=pytest.mark.slow)


@pytest.mark.parametrize(("name", "chosen"), [*pairs()])
def test_every_prompt_has_the_tokens_of_its_text(name, chosen, named_tokenizer, build_of, request):
    tokenizer = named_tokenizer(name)
    assert tokenizer.proof is not None
    mirror = request.getfixturevalue("mirror") if chosen[1] == "mirror" else None
    n = 0
    for table, documents in build_of(chosen, mirror)(tokenizer):
        for row in table.select(["prompt", "n_tokens"]).to_pylist():
            assert tokenizer.count(render(row["prompt"], documents)) == row["n_tokens"]
            n += 1
    assert n > 30
