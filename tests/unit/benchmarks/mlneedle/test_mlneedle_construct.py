"""MLNeedle's prompts hold one needle, in its place, no other answer, and as much as fits.

On the embedded sample with real retrieval, on items made here where exact text matters, and on real
data where there is a mirror.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import yaml

from needlework.benchmarks.mlneedle import plan
from needlework.benchmarks.mlneedle.factors import COLUMNS
from needlework.benchmarks.mlneedle.prompts import build
from needlework.data.corpora import extractive, mmarco, sample
from needlework.data.words import word_starts
from needlework.errors import UserError
from needlework.planning.config import validated
from needlework.prompts.spans import ROLES, Documents, render
from needlework.prompts.tokenizers import Tokenizer, load_tokenizer
from needlework.records import DISTRACTORS, PASSAGES, QUESTIONS, instances_schema, write_table
from needlework.retrieval.embedders import NgramEmbedder
from needlework.retrieval.search import AnswerFree, distractors, draw, search
from needlework.scoring.metrics import contains, normalise

ROOT = Path(__file__).resolve().parents[4]
DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
DEFAULT["run"]["benchmarks"] = ["mlneedle"]
# All languages of the sample, where the demo asks some.
for key in ("needle_languages", "multilingual"):
    del DEFAULT["benchmarks"]["mlneedle"][key]
# What MLNeedle's instances say beside the factors.
COUNTS = {"n_distractors": "int32", "exhausted": "bool", "accepted": "strings"}
TEMPLATES = sorted(map(str, (ROOT / "resources/prompts/mlneedle").glob("*.txt")))
LANGUAGES = ["en", "de", "es", "zh", "vi", "hi", "ar"]

# The paper's Table 5 and Table 6.
EXACT = """\
Write a high-quality answer for the given question using only the provided passages (some of which \
might be irrelevant).

### Passages
{passages}

Question: {question}

Answer:"""
EXISTENCE = """\
Read the following list of passages and indicate whether any of the passages contain the right \
answer for the given question. Format your output strictly as 'Yes' or 'No'.

### Passages
{passages}

Question: {question}

Answer [Yes/No]:"""
CLOSED_BOOK = """\
Write a high-quality answer for the given question.

Question: {question}

Answer:"""

Tables = dict[str, dict[str, pa.Table]]


@cache
def tokenizer(name: str) -> Tokenizer:
    kinds = {"words": {"kind": "words"}, "mistral-v1": {"kind": "mistral-common", "version": "v1"}}
    return load_tokenizer(name, kinds[name])


def settings(name: str, lengths: Sequence[int], seed: int = 0, **own: Any) -> dict[str, Any]:
    """The settings of the slice `name`, from a valid configuration with `own` in it."""
    config = copy.deepcopy(DEFAULT)
    constants = {key: own.pop(key) for key in ("answer_buffer", "multilingual_top") if key in own}
    config["benchmarks"]["mlneedle"] |= own
    block = validated(config)["benchmarks"]["mlneedle"] | {"seed": seed}
    return {**plan.settings(block, name, list(lengths)), **constants}


def instances(
    tables: Tables, name: str, lengths: Sequence[int] = (512,), tokens: str = "words", **own: Any
) -> list[dict[str, Any]]:
    """The rows of a slice."""
    table, _, _ = build(settings(name, lengths, **own), tables, TEMPLATES, tokenizer(tokens))
    assert table.schema.equals(instances_schema({**COLUMNS, **COUNTS}))
    return table.to_pylist()


def retrieved(
    questions: Mapping[str, pa.Table], passages: Mapping[str, pa.Table], top: int = 300
) -> dict[str, pa.Table]:
    """Distractors of English questions, by both retrievals, as the rules find them."""
    embedder = NgramEmbedder()
    ids = questions["en"]["example_id"].to_pylist()
    vectors = embedder.encode(questions["en"]["question"].to_pylist())
    answers: dict[str, list[str]] = {i: [] for i in ids}
    for table in questions.values():
        for row in table.select(["example_id", "answers"]).to_pylist():
            answers.get(row["example_id"], []).extend(row["answers"])
    found = {}
    for lang, table in passages.items():
        texts = table["text"].to_pylist()
        allowed = AnswerFree(texts, [answers[i] for i in ids], normalise, contains)
        nearest = search(vectors, embedder.encode(texts), top, allowed)
        drawn = draw([("mlneedle", "random", lang, i) for i in ids], len(texts), top, allowed)
        passage_ids = table["passage_id"].to_pylist()
        found[lang] = pa.concat_tables(
            [
                distractors("semantic", ids, passage_ids, nearest),
                distractors("random", ids, passage_ids, drawn),
            ]
        )
    return found


@pytest.fixture(scope="module")
def tables() -> Tables:
    """The embedded sample."""
    files = sorted((ROOT / "resources/sample").glob("*.json"))
    questions = {lang: sample.read_questions(lang, files) for lang in LANGUAGES}
    passages = {lang: sample.read_passages(lang, files) for lang in LANGUAGES}
    found = retrieved(questions, passages)
    return {"questions": questions, "passages": passages, "distractors": found}


class Corpora:
    """What a prompt is held against: documents, and the accepted answers of every item."""

    def __init__(self, tables: Tables, needles: str, haystack: str) -> None:
        self.tables, self.needles, self.haystack = tables, needles, haystack
        self.documents = Documents()
        for lang, table in tables["questions"].items():
            self.documents.add(f"{needles}/{lang}", table)
        for lang, table in tables["passages"].items():
            self.documents.add(f"{haystack}/{lang}", table)
        self.rows: dict[str, dict[str, Any]] = {lang: {} for lang in tables["questions"]}
        self.answers: dict[str, set[str]] = {}
        for lang, table in tables["questions"].items():
            for row in table.to_pylist():
                self.rows[lang][row["example_id"]] = row
                self.answers.setdefault(row["example_id"], set()).update(row["answers"])
        self.clean = cache(normalise)

    def ranking(self, row: Mapping[str, Any], top: int | None) -> list[str]:
        """The sources of a row's distractors in decreasing relevance, all that there are."""
        if row["haystack_lang"] == "none":
            return []
        mixed = row["haystack_lang"] == "multilingual"
        ranked = sorted(
            (-entry["score"], lang, entry["rank"], f"{self.haystack}/{lang}/{entry['passage_id']}")
            for lang in (self.tables["passages"] if mixed else [row["haystack_lang"]])
            for entry in rankings(self, lang)[row["example_id"], row["retrieval"]]
        )
        return [source for *_, source in ranked[:top]]


@cache
def rankings(corpora: Corpora, lang: str) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The distractors in a language by question and retrieval."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in corpora.tables["distractors"][lang].to_pylist():
        found.setdefault((row["example_id"], row["retrieval"]), []).append(row)
    return found


@pytest.fixture(scope="module")
def corpora(tables: Tables) -> Corpora:
    return Corpora(tables, "sample_questions", "sample_passages")


def passages_of(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [span for span in row["prompt"] if span["role"] in ("needle", "distractor")]


def check_text(row: Mapping[str, Any], corpora: Corpora) -> str:
    """The prompt is its template, with its question and its numbered passages in order."""
    template = {"exact": EXACT, "existence": EXISTENCE, "closed_book": CLOSED_BOOK}[row["task"]]
    texts = [corpora.documents[s["source"]][s["start"] : s["end"]] for s in passages_of(row)]
    numbered = "\n".join(f"[{i}] {text}" for i, text in enumerate(texts))
    question = corpora.rows[row["question_lang"]][row["example_id"]]["question"]
    expected = template.replace("{passages}", numbered).replace("{question}", question)
    prompt = render(row["prompt"], corpora.documents)
    assert prompt == expected
    return prompt


def check_needle(row: Mapping[str, Any], prompt: str, corpora: Corpora, n_positions: int) -> None:
    """The needle stands once, whole and where the factors say; nothing else holds an answer."""
    spans = passages_of(row)
    places = [i for i, span in enumerate(spans) if span["role"] == "needle"]
    needle = corpora.rows[row["needle_lang"]][row["example_id"]]["context"]
    assert prompt.count(needle) == row["needle_present"] == len(places)
    n = row["n_distractors"]
    assert len(spans) == n + len(places)
    for i in places:
        span = spans[i]
        own = f"{corpora.needles}/{row['needle_lang']}/{row['example_id']}"
        assert (span["source"], span["start"], span["end"]) == (own, 0, len(needle))
        if row["haystack_lang"] == "none":
            assert (row["position"], row["depth"], n) == ("none", None, 0)
        elif row["position"] in ("start", "middle", "end"):
            assert i == {"start": 0, "middle": n // 2, "end": n}[row["position"]]
            assert row["depth"] == {"start": 0, "middle": 0.5, "end": 1}[row["position"]]
        else:
            k, of = map(int, row["position"].split("/"))
            assert of == n_positions - 1
            assert i == round(k * n / of) and row["depth"] == k / of
    if not places:
        assert (row["position"], row["depth"]) == ("none", None)
    answers = {corpora.clean(answer) for answer in corpora.answers[row["example_id"]]}
    for span in spans:
        text = corpora.clean(corpora.documents[span["source"]][: span["end"]])
        found = [answer for answer in answers if contains(answer, text)]
        assert bool(found) == (span["role"] == "needle"), (row["instance_id"], found)
    if row["task"] == "existence":
        assert row["references"] == ["Yes" if places else "No"]
    else:
        assert {corpora.clean(r) for r in row["references"]} == answers


def check_distractors(row: Mapping[str, Any], corpora: Corpora, top: int | None) -> None:
    """The best of the ranking, best first, and only the last one cut."""
    found = [span for span in passages_of(row) if span["role"] == "distractor"]
    assert len(found) == row["n_distractors"]
    sources = corpora.ranking(row, top)
    assert [span["source"] for span in found] == sources[: len(found)]
    whole = [span["end"] == len(corpora.documents[span["source"]]) for span in found]
    assert all(whole[:-1]) and all(span["start"] == 0 for span in found)
    filled = row["haystack_lang"] != "none"
    assert row["exhausted"] == (filled and len(found) == len(sources) and all(whole))


def check_budget(
    row: Mapping[str, Any],
    prompt: str,
    corpora: Corpora,
    tokens: Tokenizer,
    top: int | None,
    own: Mapping[str, Any],
) -> None:
    """Counted exactly, within the budget, and neither a further word nor passage would have fitted."""
    assert tokens.count(prompt) == row["n_tokens"]
    if row["haystack_lang"] == "none":
        assert row["length"] == 0
        return
    budget = row["length"] - own["answer_buffer"]
    assert row["n_tokens"] <= budget
    if row["exhausted"]:
        return
    spans = passages_of(row)
    texts = [corpora.documents[span["source"]][: span["end"]] for span in spans]
    shown = [i for i, span in enumerate(spans) if span["role"] == "distractor"]
    last = shown[-1] if shown else None
    whole = corpora.documents[spans[last]["source"]] if shown else ""
    if shown and texts[last] != whole:
        assert own["truncate_last"]
        ends = [len(whole[:start].rstrip()) for start in word_starts(whole)[1:]] + [len(whole)]
        assert len(texts[last]) in ends
        texts[last] = whole[: next(end for end in ends if end > len(texts[last]))]
    else:
        following = corpora.documents[corpora.ranking(row, top)[len(shown)]]
        starts = [*word_starts(following), len(following)]
        texts.append(following[: starts[1]].rstrip() if own["truncate_last"] else following)
    longer = "\n".join(f"[{i}] {text}" for i, text in enumerate(texts))
    # The question's own text may hold anything: the last paragraphs are the template's.
    head, tail = prompt[: prompt.index("[0] ")], prompt[prompt.rindex("\n\nQuestion: ") :]
    assert tokens.count(head + longer + tail) > budget


def check(
    rows: Iterable[Mapping[str, Any]],
    corpora: Corpora,
    tokens: str = "words",
    n_positions: int = 3,
    **own: Any,
) -> int:
    """Assert of every row that its needle and its length are right; how many rows there were."""
    own = {"answer_buffer": 64, "truncate_last": True, "multilingual_top": 500} | own
    n = 0
    for row in rows:
        n += 1
        top = own["multilingual_top"] if row["haystack_lang"] == "multilingual" else None
        prompt = check_text(row, corpora)
        check_needle(row, prompt, corpora, n_positions)
        check_distractors(row, corpora, top)
        check_budget(row, prompt, corpora, tokenizer(tokens), top, own)
    return n


# On the sample, with real retrieval


@pytest.mark.parametrize("tokens", ["words", "mistral-v1"])
@pytest.mark.parametrize("name", ["en-en", "hi-de", "zh-ar", "vi-multilingual", "es-zh"])
def test_every_prompt_is_what_its_factors_say(tables, corpora, name: str, tokens: str) -> None:
    lengths = (512, 1024) if tokens == "words" else (1024, 2048)
    rows = instances(tables, name, lengths, tokens)
    assert check(rows, corpora, tokens) == 15 * len(lengths) * (3 + 4)
    factors = [[row[key] for key in ("task", "length", "position")] for row in rows]
    found = {tuple(f) for f in factors}
    wanted = ["start", "middle", "end"]
    assert found == {
        *itertools.product(["exact"], lengths, wanted),
        *itertools.product(["existence"], lengths, [*wanted, "none"]),
    }
    for row in rows:
        assert f"{row['needle_lang']}-{row['haystack_lang']}" == name
        assert (row["question_lang"], row["retrieval"]) == ("en", "semantic")
        assert (row["benchmark"], row["max_new_tokens"]) == ("mlneedle", 128)
        assert row["metric"] == row["task"]


def test_the_budget_decides_how_much_there_is(tables, corpora) -> None:
    """Long prompts hold more; the longest holds all that there is, and says so."""
    rows = [r for r in instances(tables, "en-en", (256, 512, 1024, 8192)) if r["task"] == "exact"]
    for example in {row["example_id"] for row in rows}:
        sizes = {r["length"]: r["n_distractors"] for r in rows if r["example_id"] == example}
        assert 0 < sizes[256] < sizes[512] < sizes[1024] < sizes[8192] == 42
    assert [r["exhausted"] for r in rows] == [r["length"] == 8192 for r in rows]
    # A full prompt misses its budget by one word at most: a number needs a word beside it.
    assert all(r["length"] - r["n_tokens"] - 64 in (0, 1) for r in rows if r["length"] < 8192)
    assert check(rows, corpora) == len(rows)


def test_nine_positions(tables, corpora) -> None:
    rows = instances(tables, "de-vi", (1024,), positions=9, questions=5, tasks=["exact"])
    assert check(rows, corpora, n_positions=9) == 5 * 9
    for example in {row["example_id"] for row in rows}:
        own = sorted((r for r in rows if r["example_id"] == example), key=lambda r: r["depth"])
        places = [[s["role"] for s in passages_of(r)].index("needle") for r in own]
        assert (
            places == sorted(places) and places[0] == 0 and places[-1] == own[-1]["n_distractors"]
        )
        assert len(set(places)) >= 5


@pytest.mark.parametrize("tokens", ["words", "mistral-v1"])
def test_whole_passages_only(tables, corpora, tokens: str) -> None:
    rows = instances(tables, "zh-es", (1024,), tokens, truncate_last=False)
    assert check(rows, corpora, tokens, truncate_last=False) == 15 * 7
    assert any(row["n_tokens"] < 1024 - 64 for row in rows)


def test_another_buffer_for_the_answer(tables, corpora) -> None:
    rows = instances(tables, "en-hi", (512,), answer_buffer=0, tasks=["exact"])
    check(rows, corpora, answer_buffer=0)
    assert 512 in {row["n_tokens"] for row in rows} <= {511, 512}


def test_a_reserve_is_left_to_the_chat_template(tables) -> None:
    spare = replace(tokenizer("words"), reserve=40)
    slice_settings = settings("en-hi", (512,), answer_buffer=0, tasks=["exact"])
    rows = build(slice_settings, tables, TEMPLATES, spare)[0].to_pylist()
    # The needle alone has no length.
    full = {row["n_tokens"] for row in rows if row["length"]}
    assert 472 in full <= {471, 472}


def test_random_retrieval(tables, corpora) -> None:
    rows = instances(tables, "ar-zh", (512,), retrieval=["semantic", "random"], tasks=["exact"])
    assert check(rows, corpora) == 15 * 3 * 2
    first = {}
    for row in rows:
        sources = [s["source"] for s in passages_of(row) if s["role"] == "distractor"]
        first.setdefault(row["retrieval"], {})[row["example_id"]] = sources[0]
    assert first["semantic"] != first["random"]
    # A draw for each question, not one for all.
    assert len(set(first["random"].values())) > 5


def test_questions_in_another_language(tables, corpora) -> None:
    rows = instances(tables, "en-de", (512,), question_lang="hi")
    assert check(rows, corpora) == 15 * 7
    assert {row["question_lang"] for row in rows} == {"hi"}


def test_without_a_haystack(tables, corpora) -> None:
    rows = instances(tables, "vi-none")
    assert check(rows, corpora) == 15 * 3
    for row in rows:
        assert (row["length"], row["position"], row["depth"]) == (0, "none", None)
        assert (row["retrieval"], row["haystack_lang"]) == ("none", "none")
        assert row["needle_present"] == (row["task"] != "closed_book")
        assert (row["n_distractors"], row["exhausted"]) == (0, False)


def test_existence_is_asked_without_a_needle_too(tables, corpora) -> None:
    rows = instances(tables, "en-es", (512, 1024), tasks=["existence"])
    absent = [row for row in rows if not row["needle_present"]]
    # One a question and length, not one a position.
    assert len(absent) == 15 * 2
    for row in absent:
        assert row["references"] == ["No"]
        assert not [span for span in row["prompt"] if span["role"] == "needle"]
        # What the needle does not take, more distractors do.
        assert row["length"] - row["n_tokens"] - 64 in (0, 1)
        twin = next(
            r
            for r in rows
            if r["needle_present"]
            and (r["example_id"], r["length"]) == (row["example_id"], row["length"])
        )
        assert row["n_distractors"] >= twin["n_distractors"]
    assert len(instances(tables, "en-es", tasks=["existence"], needle_absent=False)) == 15 * 3


def test_the_mixed_haystack_takes_the_best_of_all_languages(tables, corpora) -> None:
    languages = ["en", "hi", "zh"]
    own = {"multilingual": languages, "multilingual_top": 60, "tasks": ["exact"]}
    rows = instances(tables, "de-multilingual", (8192,), **own)
    ranks = {lang: rankings(corpora, lang) for lang in languages}
    seen = set()
    for row in rows:
        found = [s["source"].split("/") for s in passages_of(row) if s["role"] == "distractor"]
        assert row["exhausted"]
        ranked = {lang: ranks[lang][row["example_id"], "semantic"] for lang in languages}
        score = {(lang, e["passage_id"]): e["score"] for lang in languages for e in ranked[lang]}
        assert [score[lang, name] for _, lang, name in found] == sorted(score.values())[:-61:-1]
        seen |= {lang for _, lang, _ in found}
    assert seen == {*languages}


# Names


def ids(rows: Iterable[Mapping[str, Any]]) -> set[str]:
    return {row["instance_id"] for row in rows}


def test_no_two_prompts_have_the_same_id(tables) -> None:
    haystacks = ["en", "hi", "zh", "multilingual", "none"]
    own = {"retrieval": ["semantic", "random"], "positions": 5, "questions": 4}
    names = [f"{needle}-{haystack}" for needle in ("en", "de", "zh") for haystack in haystacks]
    rows = [row for name in names for row in instances(tables, name, (256, 512), **own)]
    # 4 questions; 2 retrievals, 2 lengths, 5 exact and 6 existence prompts; 3 without a haystack.
    assert len(rows) == len(ids(rows)) == 3 * (4 * 4 * 2 * 2 * (5 + 6) + 4 * 3)


def test_an_id_is_the_digest_of_what_is_asked(tables, corpora) -> None:
    for row in instances(tables, "hi-zh", (512,), questions=2):
        factors = {name: row[name] for name in COLUMNS}
        digest = hashlib.sha256()
        for part in (
            "mlneedle",
            row["task"],
            json.dumps(factors, sort_keys=True),
            render(row["prompt"], corpora.documents),
        ):
            digest.update(part.encode() + b"\0")
        assert row["instance_id"] == digest.hexdigest()


MORE = {
    "lengths": ({"lengths": (512,)}, {"lengths": (256, 512, 2048)}),
    "positions": ({"positions": ["end"]}, {"positions": ["start", "middle", "end"]}),
    "equally spaced": ({"positions": ["start", "middle"]}, {"positions": 9}),
    "tasks": ({"tasks": ["existence"]}, {"tasks": ["exact", "existence", "closed_book"]}),
    "retrieval": ({"retrieval": ["random"]}, {"retrieval": ["semantic", "random"]}),
    "needle languages": ({"needle_languages": ["de"]}, {"needle_languages": ["de", "hi", "en"]}),
    "haystacks": ({"haystack_languages": ["zh"]}, {"haystack_languages": ["ar", "zh"]}),
    "absent": ({"needle_absent": False}, {"needle_absent": True}),
    "questions": ({"questions": 4}, {"questions": 9}),
    "unaligned questions": (
        {"questions": 4, "aligned": False},
        {"questions": "all", "aligned": False},
    ),
}


@pytest.mark.parametrize("what", MORE)
def test_more_of_something_changes_no_other_row(tables, what: str) -> None:
    few, many = (
        {row["instance_id"]: row for row in instances(tables, "de-zh", **own)} for own in MORE[what]
    )
    assert few and few.items() <= many.items()
    assert what in ("needle languages", "haystacks") or len(many) > len(few)


def test_other_passages_of_other_languages_change_nothing(tables) -> None:
    """What a slice does not read cannot matter."""
    before = instances(tables, "de-zh")
    fewer = {
        "questions": tables["questions"],
        "passages": {"zh": tables["passages"]["zh"]},
        "distractors": {"zh": tables["distractors"]["zh"]},
    }
    assert instances(fewer, "de-zh") == before


# Bytes


def written(path: Path, tables: Tables, name: str, **own: Any) -> bytes:
    """The bytes of a slice's file, as the rule writes it."""
    slice_settings = settings(name, (512, 1024), **own)
    table, counts, _ = build(slice_settings, tables, TEMPLATES, tokenizer("words"))
    write_table(table, path, inputs=TEMPLATES, config=slice_settings, notes={"left_out": counts})
    return path.read_bytes()


@pytest.mark.parametrize("name", ["de-hi", "de-multilingual", "de-none"])
def test_the_same_bytes_however_it_was_built(tables, tmp_path: Path, name: str) -> None:
    own = {
        "needle_languages": ["de", "hi", "en"],
        "haystack_languages": ["hi", "en", "multilingual"],
        "answer_languages": ["en", "de", "hi", "zh"],
        "multilingual": ["hi", "zh", "ar"],
    }
    once = written(tmp_path / "x", tables, name, **own)
    assert written(tmp_path / "x", tables, name, **own) == once
    # The order of languages in the configuration, and of tables, files and rows.
    turned = {key: languages[::-1] for key, languages in own.items()}
    others = {
        kind: {
            lang: table.take(list(range(table.num_rows))[::-1])
            for lang, table in reversed(by_language.items())
        }
        for kind, by_language in tables.items()
    }
    assert written(tmp_path / "x", others, name, **turned) == once


def test_the_counts_and_the_order_of_rows(tables) -> None:
    """Rows go question by question, so that neighbours share what an engine can share."""
    rows = instances(tables, "de-hi", (1024, 512))
    assert [r["example_id"] for r in rows] == sorted(r["example_id"] for r in rows)
    one = [r for r in rows if r["example_id"] == rows[0]["example_id"] and r["task"] == "exact"]
    assert [(r["length"], r["position"]) for r in one] == [
        *itertools.product((512, 1024), ("start", "middle", "end"))
    ]


def test_a_prompt_is_stored_as_references_to_its_passages(tables, corpora) -> None:
    for row in instances(tables, "de-hi", (1024,), questions=3):
        for span in row["prompt"]:
            assert span["role"] in ROLES
            slice_ = [span[key] for key in ("source", "start", "end")]
            if span["role"] in ("needle", "distractor"):
                assert None not in slice_ and span["text"] is None
                corpus = "questions" if span["role"] == "needle" else "passages"
                assert span["source"].startswith(f"sample_{corpus}/")
            else:
                assert slice_ == [None] * 3 and span["text"]
        roles = [span["role"] for span in row["prompt"]]
        assert roles[0] == "instruction"
        assert roles[-3:] == ["instruction", "question", "answer_format"]
        # Every passage after its number.
        body = roles[1:-3]
        assert set(body[::2]) == {"haystack"} and set(body[1::2]) <= {"needle", "distractor"}
        question = next(s["text"] for s in row["prompt"] if s["role"] == "question")
        assert question == corpora.rows["en"][row["example_id"]]["question"]


# Which questions


def examples(tables: Tables, name: str, **own: Any) -> list[str]:
    rows = instances(tables, name, tasks=["exact"], **own)
    return sorted({row["example_id"] for row in rows})


def test_aligned_samples_are_the_same_items_in_every_language(tables) -> None:
    found = {lang: examples(tables, f"{lang}-none", questions=5) for lang in LANGUAGES}
    assert all(own == found["en"] for own in found.values()) and len(found["en"]) == 5


def test_other_samples_are_drawn_for_each_language(tables) -> None:
    own = {"questions": 5, "aligned": False}
    found = {tuple(examples(tables, f"{lang}-none", **own)) for lang in LANGUAGES}
    assert len(found) > 3
    # The same questions with and without a haystack, and in every haystack.
    assert examples(tables, "de-hi", **own) == examples(tables, "de-none", **own)


def test_the_seed_names_the_draw(tables) -> None:
    found = {tuple(examples(tables, "en-none", questions=5, seed=seed)) for seed in range(6)}
    assert len(found) > 3


def test_all_questions(tables) -> None:
    assert len(examples(tables, "en-none", questions="all")) == 15
    assert len(examples(tables, "en-none", questions=1000)) == 15


# Items made here


def question(name: str, answers: Sequence[str], context: str, text: str = "") -> dict[str, Any]:
    return {
        "example_id": name,
        "title": "t",
        "context": context,
        "question": text or f"Which is {name}?",
        "answers": list(answers),
        "answer_starts": [context.index(answer) for answer in answers],
    }


def made(
    items: Mapping[str, Sequence[Mapping[str, Any]]],
    passages: Mapping[str, str] | None = None,
    ranked: Sequence[str] = (),
) -> Tables:
    """Tables of `items` by language, and of English passages ranked alike for every item."""
    names = [item["example_id"] for item in items["en"]]
    rows = [
        {"example_id": n, "retrieval": "semantic", "rank": i, "passage_id": p, "score": 1 - i / 100}
        for n in names
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
    "needle_languages": ["en"],
    "haystack_languages": ["en"],
    "answer_languages": ["en"],
    "answer_buffer": 0,
}


def small() -> Tables:
    item = question("q1", ["Ostrel"], "The tower is Ostrel.", "Which {tower} is it?")
    passages = {
        "a": "Fog signals are loud.",
        "b": "A lamp burns oil.",
        "c": "Storms come in winter.",
    }
    return made({"en": [item]}, passages, ["c", "a", "b"])


def prompts(tables: Tables, name: str, length: int, **own: Any) -> dict[tuple, str]:
    """Prompts by task and position."""
    corpora = Corpora(tables, "sample_questions", "sample_passages")
    rows = instances(tables, name, (length,), **(ENGLISH | own))
    return {(r["task"], r["position"]): render(r["prompt"], corpora.documents) for r in rows}


def test_the_papers_prompts_to_the_letter() -> None:
    # 3 whole distractors are 13 words with their numbers... and there is room for all.
    found = prompts(small(), "en-en", 100)
    assert found["exact", "middle"] == (
        "Write a high-quality answer for the given question using only the provided passages (some "
        "of which might be irrelevant).\n"
        "\n"
        "### Passages\n"
        "[0] Storms come in winter.\n"
        "[1] The tower is Ostrel.\n"
        "[2] Fog signals are loud.\n"
        "[3] A lamp burns oil.\n"
        "\n"
        "Question: Which {tower} is it?\n"
        "\n"
        "Answer:"
    )
    assert found["existence", "end"] == (
        "Read the following list of passages and indicate whether any of the passages contain the "
        "right answer for the given question. Format your output strictly as 'Yes' or 'No'.\n"
        "\n"
        "### Passages\n"
        "[0] Storms come in winter.\n"
        "[1] Fog signals are loud.\n"
        "[2] A lamp burns oil.\n"
        "[3] The tower is Ostrel.\n"
        "\n"
        "Question: Which {tower} is it?\n"
        "\n"
        "Answer [Yes/No]:"
    )
    assert (
        "[0] Storms come in winter.\n[1] Fog signals are loud.\n[2] A lamp burns oil.\n\nQ"
        in (found["existence", "none"])
    )
    assert "[0] The tower is Ostrel.\n[1] Storms come in winter.\n" in found["exact", "start"]


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
    asked = [key for key in kept if key[0] != "closed_book"]
    assert all(stripped[key] != kept[key] for key in asked)


def test_prompts_without_a_haystack_to_the_letter() -> None:
    found = prompts(small(), "en-none", 100)
    assert found["closed_book", "none"] == (
        "Write a high-quality answer for the given question.\n"
        "\n"
        "Question: Which {tower} is it?\n"
        "\n"
        "Answer:"
    )
    assert found["exact", "none"] == EXACT.replace(
        "{passages}", "[0] The tower is Ostrel."
    ).replace("{question}", "Which {tower} is it?")
    assert found["existence", "none"].endswith(
        "\n[0] The tower is Ostrel.\n\nQuestion: Which {tower} is it?\n\nAnswer [Yes/No]:"
    )


def test_the_last_distractor_is_cut_between_words() -> None:
    # The frame has 28 words with the needle's line, whole distractors 5 each with their number.
    baseline = load_tokenizer("words", {"kind": "words"}).count(
        prompts(small(), "en-none", 9)["exact", "none"]
    )
    for room, shown in {
        0: [],
        1: [],
        2: ["[1] Storms"],
        4: ["[1] Storms come in"],
        5: ["[1] Storms come in winter."],
        6: ["[1] Storms come in winter."],
        7: ["[1] Storms come in winter.", "[2] Fog"],
        14: ["[1] Storms come in winter.", "[2] Fog signals are loud.", "[3] A lamp burns"],
        15: ["[1] Storms come in winter.", "[2] Fog signals are loud.", "[3] A lamp burns oil."],
        99: ["[1] Storms come in winter.", "[2] Fog signals are loud.", "[3] A lamp burns oil."],
    }.items():
        text = prompts(small(), "en-en", baseline + room, tasks=["exact"])["exact", "start"]
        body = text.split("### Passages\n")[1].split("\n\nQuestion")[0].split("\n")
        assert body == ["[0] The tower is Ostrel.", *shown], room


def test_prompts_whose_needle_does_not_fit_are_counted() -> None:
    long = question("q2", ["Velmora"], "Velmora " + "is an island " * 40)
    item = question("q1", ["Ostrel"], "The tower is Ostrel.")
    tables = made({"en": [item, long]}, {"a": "Fog signals are loud."}, ["a"])
    slice_settings = settings("en-en", (50, 300), **ENGLISH)
    table, counts, _ = build(slice_settings, tables, TEMPLATES, tokenizer("words"))
    # Three exact and three existence prompts at the shorter length; the absent one has no needle.
    assert counts == {"no_answer_left": 0, "questions_lacking": 0, "needle_too_long": 6}
    rows = table.to_pylist()
    own = [r for r in rows if r["example_id"] == "q2"]
    assert {(r["length"], r["needle_present"]) for r in own} == {
        (50, False),
        (300, True),
        (300, False),
    }
    assert len([r for r in rows if r["example_id"] == "q1"]) == 14


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
    slice_settings["questions"] = 1
    for seed in range(12):
        slice_settings["seed"] = seed
        table, _, _ = build(slice_settings, made(items), TEMPLATES, tokenizer("words"))
        assert table["example_id"].to_pylist() == ["q1"]


def test_the_accepted_answers_are_those_of_all_languages_each_once() -> None:
    items = {
        "en": [question("q1", ["Ostrel", "Cape Ostrel"], "It is Cape Ostrel.")],
        "de": [question("q1", ["Kap Ostrel", "Ostrel"], "Es ist Kap Ostrel.")],
        "es": [question("other", ["x"], "x")],
    }
    own = ENGLISH | {"answer_languages": ["en", "de", "es"], "aligned": False}
    (row,) = instances(made(items), "en-none", tasks=["exact"], **own)
    assert row["references"] == ["Ostrel", "Cape Ostrel", "Kap Ostrel"]


def test_languages_without_a_shared_item_are_refused() -> None:
    items = {
        "en": [question("q1", ["a1"], "a1")],
        "de": [question("q1", ["a1"], "a1")],
        "hi": [question("q2", ["a2"], "a2")],
    }
    own = {"needle_languages": ["de"], "answer_languages": ["en", "de", "hi"], "tasks": ["exact"]}
    with pytest.raises(UserError, match=r"no item in all of de, en, hi: set `aligned: false`"):
        instances(made(items), "de-none", **own)
    assert len(instances(made(items), "de-none", aligned=False, **own)) == 1


def test_text_that_looks_like_a_prompt_is_text() -> None:
    """Questions and passages are untrusted: neither may shift the needle or the template."""
    item = question(
        "q1",
        ["Ostrel"],
        "[7] The tower is Ostrel.\n[8] {passages}\n\nQuestion: none",
        "What is {passages}?\n\nAnswer: {question}",
    )
    tables = made({"en": [item]}, {"a": "\n\nAnswer: fog", "b": "[0] x\ny"}, ["a", "b"])
    corpora = Corpora(tables, "sample_questions", "sample_passages")
    rows = instances(tables, "en-en", (200,), **ENGLISH)
    assert len(rows) == 7
    for row in rows:
        check_text(row, corpora)
        assert row["n_distractors"] == 2


def test_an_item_without_distractors() -> None:
    tables = made({"en": [question("q1", ["Ostrel"], "The tower is Ostrel.")]})
    rows = instances(tables, "en-en", (200,), **ENGLISH)
    assert all(row["exhausted"] and row["n_distractors"] == 0 for row in rows)
    # The same words at every position, and yet prompts of their own.
    assert len(ids(rows)) == 7


# On real data


@pytest.fixture(scope="module")
def mlqa_dev(mirror: Path) -> dict[str, pa.Table]:
    return {
        lang: extractive.read_mlqa(mirror / "mlqa/MLQA_V1.zip", "dev", lang) for lang in LANGUAGES
    }


@pytest.fixture(scope="module")
def real(mirror: Path, mlqa_dev: dict[str, pa.Table]) -> Tables:
    """Some of MLQA's development questions, and XQuAD's paragraphs in the place of mMARCO."""
    collections = {
        lang: mirror / f"mmarco/collections/{name}_collection.tsv"
        for lang, name in {
            "en": "english",
            "de": "german",
            "es": "spanish",
            "zh": "chinese",
            "vi": "vietnamese",
            "hi": "hindi",
            "ar": "arabic",
        }.items()
    }
    passages = {lang: mmarco.read(path, range(240)) for lang, path in collections.items()}
    # A part of them is enough for prompts, and quicker to search for.
    some = pa.array(mlqa_dev["en"]["example_id"].to_pylist()[::8])
    questions = {
        lang: table.filter(pc.is_in(table["example_id"], value_set=some))
        for lang, table in mlqa_dev.items()
    }
    return {
        "questions": questions,
        "passages": passages,
        "distractors": retrieved(questions, passages, top=240),
    }


@pytest.fixture(scope="module")
def real_corpora(real: Tables) -> Corpora:
    return Corpora(real, "mlqa", "mmarco")


REAL = {"needles": "mlqa", "haystack": "mmarco"}


@pytest.mark.parametrize("name", ["hi-de", "zh-ar", "es-multilingual", "vi-en"])
def test_every_real_prompt_is_what_its_factors_say(real, real_corpora, name: str) -> None:
    own = REAL | {"questions": 5, "aligned": False}
    rows = instances(real, name, (4096, 8192), "mistral-v1", **own)
    assert check(rows, real_corpora, "mistral-v1") == 5 * 2 * 7


def test_no_two_real_prompts_have_the_same_id(mlqa_dev) -> None:
    """Also where the corpus asks nearly the same twice."""
    own = REAL | {"questions": "all", "aligned": False, "tasks": ["exact", "closed_book"]}
    for lang in ("en", "ar", "zh"):
        rows = instances({"questions": mlqa_dev}, f"{lang}-none", **own)
        assert len(rows) == len(ids(rows)) > 1000


def test_real_items_that_languages_share(mlqa_dev) -> None:
    tables, some = {"questions": mlqa_dev}, ["en", "de", "es"]
    own = REAL | {"aligned": True, "needle_languages": some, "answer_languages": some}
    found = [examples(tables, f"{lang}-none", questions=20, **own) for lang in some]
    assert found[0] == found[1] == found[2] and len(found[0]) == 20
    # None is in all seven.
    with pytest.raises(UserError, match="has no item in all of ar, de, en, es, hi, vi, zh"):
        examples(tables, "de-none", **REAL, aligned=True)
