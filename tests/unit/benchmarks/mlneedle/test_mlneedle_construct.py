"""MLNeedle's prompts hold one needle, in its place, no other answer, and as much as fits.

On the embedded sample with real retrieval, on items made here where exact text matters, and on real
data where there is a mirror.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from factories import ROOT, templates
from factories.mlneedle import LANGS, settings
from invariants import check_budget, check_needle, spans_of
from needlework.benchmarks.mlneedle.factors import COLUMNS
from needlework.benchmarks.mlneedle.prompts import build
from needlework.data.corpora import extractive, sample
from needlework.errors import UserError
from needlework.prompts.spans import Documents, render
from needlework.prompts.tokenizers import Tokenizer, load_tokenizer
from needlework.records import DISTRACTORS, PASSAGES, QUESTIONS, instances_schema, write_table
from needlework.retrieval.embedders import NgramHasher
from needlework.retrieval.search import AnswerFree, distractors, random_ranking, search
from needlework.scoring.metrics import contains, normalise

# What MLNeedle's instances say beside the factors.
COUNTS = {"n_distractors": "int32", "exhausted": "bool", "accepted": "strings"}
TEMPLATES = templates("mlneedle")
PASSAGE_ROLES = ("needle", "distractor")

# The paper's Table 5 and Table 6.
HEAD = "Write a high-quality answer for the given question"
FORMS = {
    "exact": (
        f"{HEAD} using only the provided passages (some of which might be irrelevant).\n\n"
        "### Passages\n{passages}\n\nQuestion: {question}\n\nAnswer:"
    ),
    "existence": (
        "Read the following list of passages and indicate whether any of the passages contain the right "
        "answer for the given question. Format your output strictly as 'Yes' or 'No'.\n\n"
        "### Passages\n{passages}\n\nQuestion: {question}\n\nAnswer [Yes/No]:"
    ),
    "closed_book": f"{HEAD}.\n\nQuestion: {{question}}\n\nAnswer:",
}

Tables = dict[str, dict[str, pa.Table]]


@cache
def tokenizer(name: str) -> Tokenizer:
    kinds = {"words": {"kind": "words"}, "mistral-v1": {"kind": "mistral-common", "version": "v1"}}
    return load_tokenizer(name, kinds[name])


def instances(
    tables: Tables, name: str, lengths: Sequence[int] = (512,), tokens: str = "words", **own: Any
) -> list[dict[str, Any]]:
    table, _, _ = build(settings(name, lengths, **own), tables, TEMPLATES, tokenizer(tokens))
    assert table.schema.equals(instances_schema({**COLUMNS, **COUNTS}))
    return table.to_pylist()


def ids(rows: Iterable[Mapping[str, Any]]) -> set[str]:
    return {row["instance_id"] for row in rows}


def retrieved(
    questions: Mapping[str, pa.Table], passages: Mapping[str, pa.Table], top: int = 300
) -> dict[str, pa.Table]:
    """Distractors of English questions, by both retrievals, as the rules find them."""
    embedder = NgramHasher()
    example_ids = questions["en"]["example_id"].to_pylist()
    vectors = embedder.encode(questions["en"]["question"].to_pylist())
    answers: dict[str, list[str]] = {i: [] for i in example_ids}
    for table in questions.values():
        for row in table.select(["example_id", "answers"]).to_pylist():
            answers.get(row["example_id"], []).extend(row["answers"])
    found = {}
    for lang, table in passages.items():
        texts, passage_ids = table["text"].to_pylist(), table["passage_id"].to_pylist()
        allowed = AnswerFree(texts, [answers[i] for i in example_ids], normalise, contains)
        keys = [("mlneedle", "random", lang, i) for i in example_ids]
        rankings = {
            "semantic": search(vectors, embedder.encode(texts), top, allowed),
            "random": random_ranking(keys, len(texts), top, allowed),
        }
        found[lang] = pa.concat_tables(
            [distractors(kind, example_ids, passage_ids, r) for kind, r in rankings.items()]
        )
    return found


@pytest.fixture(scope="module")
def tables() -> Tables:
    files = sorted((ROOT / "resources/sample").glob("*.json"))
    questions = {lang: sample.read_questions(lang, files) for lang in LANGS}
    passages = {lang: sample.read_passages(lang, files) for lang in LANGS}
    found = retrieved(questions, passages)
    return {"questions": questions, "passages": passages, "distractors": found}


class Corpora:
    """What a prompt is held against: documents, the accepted answers of every item, and rankings."""

    def __init__(self, tables: Tables, needles: str, haystack: str) -> None:
        self.tables, self.haystack = tables, haystack
        self.documents = Documents()
        for kind, corpus in (("questions", needles), ("passages", haystack)):
            for lang, table in tables[kind].items():
                self.documents.add(f"{corpus}/{lang}", table)
        self.clean = cache(normalise)
        self.asked: dict[tuple[str, str], str] = {}
        self.answers: dict[str, set[str]] = {}
        for lang, table in tables["questions"].items():
            for row in table.to_pylist():
                self.asked[lang, row["example_id"]] = row["question"]
                own = self.answers.setdefault(row["example_id"], set())
                own.update(map(self.clean, row["answers"]))
        self.ranked: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
        for lang, table in tables["distractors"].items():
            for row in table.to_pylist():
                key = (lang, row["example_id"], row["retrieval"])
                self.ranked.setdefault(key, []).append(row)

    def ranking(self, row: Mapping[str, Any], langs: Iterable[str], top: int) -> list[str]:
        """The sources of a row's distractors in decreasing relevance, all that there are."""
        mixed = row["haystack_lang"] == "multilingual"
        ranked = sorted(
            (-entry["score"], lang, entry["rank"], f"{self.haystack}/{lang}/{entry['passage_id']}")
            for lang in (langs if mixed else [row["haystack_lang"]])
            for entry in self.ranked.get((lang, row["example_id"], row["retrieval"]), ())
        )
        return [source for *_, source in ranked[: top if mixed else None]]

    def check(
        self,
        rows: Iterable[Mapping[str, Any]],
        tokens: str = "words",
        *,
        answer_buffer: int = 64,
        truncate_last: bool = True,
        multilingual: Iterable[str] = LANGS,
        multilingual_top: int = 500,
        **others: Any,
    ) -> None:
        """Assert of every row that its text, its needle and its length are right."""
        for row in rows:
            prompt = self.check_text(row)
            assert tokenizer(tokens).count(prompt) == row["n_tokens"]
            check_needle(row, self.documents, self.answers[row["example_id"]], self.clean)
            sources = self.ranking(row, multilingual, multilingual_top)
            shown = spans_of(row, "distractor")
            # The best of the ranking, best first, and only the last one cut.
            assert [span["source"] for span in shown] == sources[: len(shown)]
            whole = [span["end"] == len(self.documents[span["source"]]) for span in shown]
            assert all(whole[:-1]) and all(span["start"] == 0 for span in shown)
            filled = row["haystack_lang"] != "none"
            assert row["exhausted"] == (filled and len(shown) == len(sources) and all(whole))
            left = sources[len(shown) :]
            check_budget(
                row,
                prompt,
                self.documents,
                tokenizer(tokens),
                answer_buffer=answer_buffer,
                following=self.documents[left[0]] if left else None,
                truncate_last=truncate_last,
            )

    def check_text(self, row: Mapping[str, Any]) -> str:
        """The prompt is its template, with its question and its numbered passages in order."""
        spans = spans_of(row, *PASSAGE_ROLES)
        texts = [self.documents[s["source"]][s["start"] : s["end"]] for s in spans]
        numbered = "\n".join(f"[{i}] {text}" for i, text in enumerate(texts))
        question = self.asked[row["question_lang"], row["example_id"]]
        form = FORMS[row["task"]].replace("{passages}", numbered)
        prompt = render(row["prompt"], self.documents)
        assert prompt == form.replace("{question}", question)
        (asked,) = spans_of(row, "question")
        assert asked["text"] == question
        # Passages are stored as references, all else as text.
        for span in row["prompt"]:
            assert (span["source"] is None) == (span["role"] not in PASSAGE_ROLES)
        return prompt


@pytest.fixture(scope="module")
def corpora(tables: Tables) -> Corpora:
    return Corpora(tables, "sample_questions", "sample_passages")


ENDS = ["start", "middle", "end"]


@pytest.mark.parametrize(
    ("name", "tokens", "own"),
    [
        ("en-en", "words", {}),
        ("hi-de", "mistral-v1", {}),
        ("zh-ar", "words", {}),
        ("es-zh", "mistral-v1", {}),
        ("zh-es", "mistral-v1", {"truncate_last": False}),
        ("zh-es", "words", {"truncate_last": False}),
        ("ar-zh", "words", {"retrieval": ["semantic", "random"]}),
        ("en-de", "words", {"question_lang": "hi"}),
        ("de-vi", "words", {"positions": 9}),
        ("vi-multilingual", "words", {}),
        # The best of all languages, as many as there may be at most.
        (
            "de-multilingual",
            "words",
            {"multilingual": ["en", "hi", "zh"], "multilingual_top": 60, "lengths": (8192,)},
        ),
        ("vi-none", "words", {}),
    ],
)
def test_every_prompt_is_what_its_factors_say(tables, corpora, name, tokens, own) -> None:
    lengths = own.get("lengths", (512, 1024) if tokens == "words" else (1024,))
    rows = instances(tables, name, tokens=tokens, **{"lengths": lengths, "questions": 4, **own})
    corpora.check(rows, tokens, **own)
    needle, haystack = name.split("-")
    kinds, positions = own.get("retrieval", ["semantic"]), ENDS
    if own.get("positions") == 9:
        positions = ["start", "1/8", "2/8", "3/8", "middle", "5/8", "6/8", "7/8", "end"]
    asked = [*product(["exact"], positions), *product(["existence"], [*positions, "none"])]
    if haystack == "none":
        asked = [(task, "none") for task in ("exact", "existence", "closed_book")]
        lengths, kinds = (0,), ["none"]
    found = Counter(((r["task"], r["position"]), r["length"], r["retrieval"]) for r in rows)
    assert found == dict.fromkeys(product(asked, lengths, kinds), 4)
    said = {"benchmark": "mlneedle", "needle_lang": needle, "haystack_lang": haystack}
    said |= {"question_lang": own.get("question_lang", "en"), "max_new_tokens": 128}
    for row in rows:
        metric = "existence" if row["task"] == "existence" else "exact"
        assert row.items() >= (said | {"metric": metric}).items()
    # Rows go question by question, so that neighbours share what an engine can share.
    assert [r["example_id"] for r in rows] == sorted(r["example_id"] for r in rows)


def test_the_budget_decides_how_much_there_is(tables, corpora) -> None:
    """Long prompts hold more; the longest holds all that there is, and says so."""
    lengths = (8192, 256, 1024, 512)
    rows = instances(tables, "en-en", lengths, tasks=["exact"], questions=4)
    corpora.check(rows)
    places = [(row["length"], row["position"]) for row in rows[: 4 * 3]]
    assert places == [*product(sorted(lengths), ENDS)]
    for example in {row["example_id"] for row in rows}:
        sizes = {r["length"]: r["n_distractors"] for r in rows if r["example_id"] == example}
        assert 0 < sizes[256] < sizes[512] < sizes[1024] < sizes[8192] == 42
    assert [r["exhausted"] for r in rows] == [r["length"] == 8192 for r in rows]
    # A full prompt misses its budget by one word at most: a number needs a word beside it.
    assert all(r["length"] - r["n_tokens"] - 64 in (0, 1) for r in rows if r["length"] < 8192)
    # Without room for an answer, and with a reserve for the chat template.
    own = {"answer_buffer": 0, "tasks": ["exact"], "questions": 4}
    rows = instances(tables, "en-hi", **own)
    corpora.check(rows, answer_buffer=0)
    assert 512 in {row["n_tokens"] for row in rows} <= {511, 512}
    spare = replace(tokenizer("words"), reserve=40)
    rows = build(settings("en-hi", (512,), **own), tables, TEMPLATES, spare)[0].to_pylist()
    assert 472 in {row["n_tokens"] for row in rows} <= {471, 472}


def test_ids_differ_and_passages_of_other_languages_change_nothing(tables) -> None:
    haystacks = ["en", "hi", "multilingual", "none"]
    own = {"retrieval": ["semantic", "random"], "positions": 5, "questions": 2}
    names = [f"{needle}-{haystack}" for needle in ("en", "de") for haystack in haystacks]
    rows = [row for name in names for row in instances(tables, name, (256, 512), **own)]
    # 2 questions; 2 retrievals, 2 lengths, 5 exact and 6 existence prompts; 3 without a haystack.
    assert len(rows) == len(ids(rows)) == 2 * (2 * 3 * 2 * 2 * (5 + 6) + 2 * 3)
    fewer = {kind: {"zh": tables[kind]["zh"]} for kind in ("passages", "distractors")}
    fewer["questions"] = tables["questions"]
    assert instances(fewer, "de-zh") == instances(tables, "de-zh")


@pytest.mark.parametrize(
    ("few", "many"),
    [
        ({"lengths": (512,)}, {"lengths": (256, 512, 2048)}),
        ({"positions": ["end"]}, {"positions": ["start", "middle", "end"]}),
        ({"positions": ["start", "middle"]}, {"positions": 9}),
        ({"tasks": ["existence"]}, {"tasks": ["exact", "existence", "closed_book"]}),
        ({"retrieval": ["random"]}, {"retrieval": ["semantic", "random"]}),
        ({"needle_absent": False}, {"needle_absent": True}),
        ({"questions": 4}, {"questions": 9}),
        ({"questions": 4, "aligned": False}, {"questions": "all", "aligned": False}),
        # Of other slices: the rows are the same.
        ({"needle_languages": ["de"]}, {"needle_languages": ["de", "hi", "en"]}),
        ({"haystack_languages": ["zh"]}, {"haystack_languages": ["ar", "zh"]}),
    ],
)
def test_more_of_something_changes_no_other_row(tables, few: dict, many: dict) -> None:
    less, more = (
        {row["instance_id"]: row for row in instances(tables, "de-zh", **({"questions": 4} | own))}
        for own in (few, many)
    )
    assert less and less.items() <= more.items()
    same = {"needle_languages", "haystack_languages"} & {*many}
    assert len(less) == len(more) if same else len(less) < len(more)


@pytest.mark.parametrize("name", ["de-hi", "de-multilingual", "de-none"])
def test_the_same_bytes_however_it_was_built(tables, tmp_path: Path, name: str) -> None:
    own = {
        "needle_languages": ["de", "hi", "en"],
        "haystack_languages": ["hi", "en", "multilingual"],
        "answer_languages": ["en", "de", "hi", "zh"],
        "multilingual": ["hi", "zh", "ar"],
    }

    def written(tables: Tables, own: Mapping[str, Any]) -> bytes:
        slice_settings = settings(name, (512,), questions=4, **own)
        table, counts, _ = build(slice_settings, tables, TEMPLATES, tokenizer("words"))
        notes = {"left_out": counts}
        write_table(table, tmp_path / "x", inputs=TEMPLATES, config=slice_settings, notes=notes)
        return (tmp_path / "x").read_bytes()

    once = written(tables, own)
    assert written(tables, own) == once
    # The order of languages in the configuration, and of tables, files and rows.
    turned = {key: languages[::-1] for key, languages in own.items()}
    others = {
        kind: {
            lang: table.take(list(range(table.num_rows))[::-1])
            for lang, table in reversed(by_language.items())
        }
        for kind, by_language in tables.items()
    }
    assert written(others, turned) == once


def examples(tables: Tables, name: str, **own: Any) -> list[str]:
    rows = instances(tables, name, tasks=["exact"], **own)
    return sorted({row["example_id"] for row in rows})


def test_samples_share_items_between_languages_or_not(tables) -> None:
    found = {lang: examples(tables, f"{lang}-none", questions=5) for lang in LANGS}
    assert all(own == found["en"] for own in found.values()) and len(found["en"]) == 5
    own = {"questions": 5, "aligned": False}
    assert len({tuple(examples(tables, f"{lang}-none", **own)) for lang in LANGS}) > 3
    # The same questions with and without a haystack, and in every haystack.
    assert examples(tables, "de-hi", **own) == examples(tables, "de-none", **own)
    seeds = {tuple(examples(tables, "en-none", questions=5, seed=seed)) for seed in range(6)}
    assert len(seeds) > 3
    for questions in ("all", 1000):
        assert len(examples(tables, "en-none", questions=questions)) == 15


def question(name: str, answers: Sequence[str], context: str, text: str = "") -> dict[str, Any]:
    return {
        **{"example_id": name, "title": "t", "context": context},
        **{"question": text or f"Which is {name}?", "answers": list(answers)},
        "answer_starts": [context.index(answer) for answer in answers],
    }


def made(
    items: Mapping[str, Sequence[Mapping[str, Any]]],
    passages: Mapping[str, str] | None = None,
    ranked: Sequence[str] = (),
) -> Tables:
    """Tables of `items` by language, and of English passages ranked alike for every item."""
    rows = [
        {"example_id": item["example_id"], "retrieval": "semantic", "rank": i, "passage_id": p}
        | {"score": 1 - i / 100}
        for item in items["en"]
        for i, p in enumerate(ranked)
    ]
    texts = {"passage_id": list(passages or {}), "text": list((passages or {}).values())}
    return {
        "questions": {
            lang: pa.Table.from_pylist([dict(i) for i in own], schema=QUESTIONS)
            for lang, own in items.items()
        },
        "passages": {"en": pa.table(texts, schema=PASSAGES)},
        "distractors": {"en": pa.Table.from_pylist(rows, schema=DISTRACTORS)},
    }


ENGLISH = {
    **{"needle_languages": ["en"], "haystack_languages": ["en"], "answer_languages": ["en"]},
    "answer_buffer": 0,
}
OSTREL = question("q1", ["Ostrel"], "The tower is Ostrel.", "Which {tower} is it?")
TEXTS = {"a": "Fog signals are loud.", "b": "A lamp burns oil.", "c": "Storms come in winter."}
SMALL = made({"en": [OSTREL]}, TEXTS, ["c", "a", "b"])


def prompts(tables: Tables, name: str, length: int, **own: Any) -> dict[tuple, str]:
    corpora = Corpora(tables, "sample_questions", "sample_passages")
    rows = instances(tables, name, (length,), **(ENGLISH | own))
    return {(r["task"], r["position"]): render(r["prompt"], corpora.documents) for r in rows}


def test_the_papers_prompts_to_the_letter() -> None:
    """Three whole distractors fit."""
    needle = "The tower is Ostrel."
    storms, fog, lamp = (TEXTS[name] for name in "cab")
    found = prompts(SMALL, "en-en", 100) | prompts(SMALL, "en-none", 100, tasks=["closed_book"])
    alone = prompts(SMALL, "en-none", 100)
    for key, prompt, passages in (
        (("exact", "start"), found, [needle, storms, fog, lamp]),
        (("exact", "middle"), found, [storms, needle, fog, lamp]),
        (("existence", "end"), found, [storms, fog, lamp, needle]),
        (("existence", "none"), found, [storms, fog, lamp]),
        (("exact", "none"), alone, [needle]),
        (("existence", "none"), alone, [needle]),
        (("closed_book", "none"), alone, []),
    ):
        lines = "\n".join(f"[{i}] {text}" for i, text in enumerate(passages))
        form = FORMS[key[0]].replace("{passages}", lines)
        assert prompt[key] == form.replace("{question}", "Which {tower} is it?"), key


@pytest.mark.parametrize("name", ["en-en", "en-none"])
def test_the_contexts_end_is_stripped(name: str) -> None:
    """Of the last passage alone, be it the needle or a distractor."""
    item = question("q1", ["Ostrel"], "The tower is Ostrel. \n")
    passages = {"a": "Fog signals are loud.  ", "b": "A lamp burns oil. "}
    spaced = made({"en": [item]}, passages, ["a", "b"])
    kept = prompts(spaced, name, 100)
    stripped = prompts(spaced, name, 100, strip_context=True)
    assert kept.keys() == stripped.keys() and {key for key in kept if key[0] == "exact"}
    for key, prompt in kept.items():
        head, question_follows, rest = prompt.partition("\n\nQuestion:")
        assert stripped[key] == head.rstrip() + question_follows + rest, key
        assert (stripped[key] != prompt) == (key[0] != "closed_book")


def test_the_last_distractor_is_cut_between_words() -> None:
    baseline = tokenizer("words").count(prompts(SMALL, "en-none", 9)["exact", "none"])
    # Each passage takes a word for its number, and needs one beside it.
    words = "[1] Storms come in winter. [2] Fog signals are loud. [3] A lamp burns oil.".split(" ")
    for room in (0, 1, 2, 4, 5, 6, 7, 14, 15, 99):
        text = prompts(SMALL, "en-en", baseline + room, tasks=["exact"])["exact", "start"]
        body = text.split("### Passages\n")[1].split("\n\nQuestion")[0].replace("\n", " ")
        fitting = room - 1 if room in (1, 6) else room
        assert body == " ".join(["[0] The tower is Ostrel.", *words[:fitting]]), room


def test_prompts_whose_needle_does_not_fit_are_counted() -> None:
    long = question("q2", ["Velmora"], "Velmora " + "is an island " * 40)
    tables = made({"en": [OSTREL, long]}, {"a": "Fog signals are loud."}, ["a"])
    slice_settings = settings("en-en", (50, 300), **ENGLISH)
    table, counts, _ = build(slice_settings, tables, TEMPLATES, tokenizer("words"))
    # Three exact and three existence prompts at the shorter length; the absent one has no needle.
    assert counts == {"no_answer_left": 0, "questions_lacking": 0, "needle_too_long": 6}
    found = [(r["example_id"], r["length"], r["needle_present"]) for r in table.to_pylist()]
    second = {row[1:] for row in found if row[0] == "q2"}
    assert second == {(50, False), (300, True), (300, False)}
    assert len([row for row in found if row[0] == "q1"]) == 14


def test_items_whose_answer_normalises_to_nothing_are_counted() -> None:
    """Every text would contain it."""
    items = {
        "en": [question("q1", ["Ostrel"], "It is Ostrel."), question("q2", ["?"], "It is a ?.")],
        "de": [question("q1", ["Ostrel"], "Es ist Ostrel."), question("q2", ["So"], "So ist es.")],
    }
    own = ENGLISH | {"answer_languages": ["en", "de"], "tasks": ["exact"]}
    slice_settings = settings("en-none", (512,), **own)
    table, counts, _ = build(slice_settings, made(items), TEMPLATES, tokenizer("words"))
    assert counts == {"no_answer_left": 1, "questions_lacking": 0, "needle_too_long": 0}
    assert table["example_id"].to_pylist() == ["q1"]
    # The place of an item that is left out goes to the next one.
    for seed in range(8):
        own_seed = slice_settings | {"questions": 1, "seed": seed}
        table, _, _ = build(own_seed, made(items), TEMPLATES, tokenizer("words"))
        assert table["example_id"].to_pylist() == ["q1"]


def test_the_accepted_answers_are_those_of_all_languages_each_once() -> None:
    items = {
        "en": [question("q1", ["Ostrel", "Cape Ostrel"], "It is Cape Ostrel.")],
        "de": [question("q1", ["Kap Ostrel", "Ostrel"], "Es ist Kap Ostrel.")],
        "es": [question("other", ["x"], "x")],
    }
    own = ENGLISH | {"answer_languages": ["en", "de", "es"], "tasks": ["exact"]}
    (row,) = instances(made(items), "en-none", aligned=False, **own)
    assert row["references"] == ["Ostrel", "Cape Ostrel", "Kap Ostrel"]
    with pytest.raises(UserError, match=r"no item in all of de, en, es: set `aligned: false`"):
        instances(made(items), "en-none", aligned=True, **own)


def test_text_like_a_prompt_and_items_without_distractors() -> None:
    # Questions and passages are untrusted: neither may shift the needle or the template.
    context = "[7] The tower is Ostrel.\n[8] {passages}\n\nQuestion: none"
    item = question("q1", ["Ostrel"], context, "What is {passages}?\n\nAnswer: {question}")
    tables = made({"en": [item]}, {"a": "\n\nAnswer: fog", "b": "[0] x\ny"}, ["a", "b"])
    corpora = Corpora(tables, "sample_questions", "sample_passages")
    rows = instances(tables, "en-en", (200,), **ENGLISH)
    assert len(rows) == 7
    for row in rows:
        corpora.check_text(row)
        assert row["n_distractors"] == 2
    rows = instances(made({"en": [OSTREL]}), "en-en", (200,), **ENGLISH)
    assert all(row["exhausted"] and row["n_distractors"] == 0 for row in rows)
    # The same words at every position, and yet prompts of their own.
    assert len(ids(rows)) == 7


@pytest.fixture(scope="module")
def mlqa_dev(mirror: Path) -> dict[str, pa.Table]:
    path = mirror / "mlqa/MLQA_V1.zip"
    return {lang: extractive.read_mlqa(path, "dev", lang) for lang in LANGS}


REAL = {"needles": "mlqa", "haystack": "mmarco"}


def test_real_items_have_ids_of_their_own(mlqa_dev) -> None:
    # Also where the corpus asks nearly the same twice.
    own = REAL | {"questions": "all", "aligned": False, "tasks": ["exact", "closed_book"]}
    rows = instances({"questions": mlqa_dev}, "zh-none", **own)
    assert len(rows) == len(ids(rows)) > 1000
    tables, some = {"questions": mlqa_dev}, ["en", "de", "es"]
    own = REAL | {"aligned": True, "needle_languages": some, "answer_languages": some}
    found = [examples(tables, f"{lang}-none", questions=20, **own) for lang in some]
    assert found[0] == found[1] == found[2] and len(found[0]) == 20
    # None is in all seven.
    with pytest.raises(UserError, match="has no item in all of ar, de, en, es, hi, vi, zh"):
        examples(tables, "de-none", **REAL, aligned=True)
