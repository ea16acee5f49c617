"""Lost in the Middle's prompts are the paper's, to the letter and to the token.

On the released files where there is a mirror, on stand-ins of the others in their own format, and on the
embedded sample with real retrieval.
"""

from __future__ import annotations

import random
import re
import statistics
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import factories.lost_in_the_middle as data
import golden_runs
import made_slices
from described import cell
from factories.lost_in_the_middle import INDICES, block, settings
from invariants import check_document_row
from made_slices import WORDS, Tables
from needlework.benchmarks.lost_in_the_middle import corpus as nq_open
from needlework.benchmarks.lost_in_the_middle import plan, scores
from needlework.benchmarks.lost_in_the_middle.factors import COLUMNS
from needlework.benchmarks.lost_in_the_middle.tables import PROMPTS
from needlework.data.comparison import normalisation
from needlework.data.corpora import extractive, sample, titled
from needlework.errors import UserError
from needlework.prompts.spans import ROLES
from needlework.prompts.tokenizers import Tokenizer
from needlework.records import instances_schema, write_table
from needlework.results.numbers.prompt_table import describe
from needlework.retrieval.embedders import NgramHasher
from needlework.retrieval.search import AnswerFree, distractors, search

N = 10
PLACES = {n: INDICES[n] for n in (10, 20, 30)}


class Made(made_slices.Made):
    def __init__(self, settings: Any, tables: Tables, tokenizer: Tokenizer = WORDS) -> None:
        super().__init__("lost_in_the_middle", settings, tables, tokenizer)
        assert self.built.instances.schema == instances_schema(COLUMNS)
        self.asked = [row["example_id"] for row in self.rows]

    def texts(self) -> dict[tuple[str, int, int | None], str]:
        """The prompts by question, number of documents and gold index."""
        keys = ("example_id", "n_documents", "gold_index")
        return {tuple(row[key] for key in keys): self.text(row) for row in self.rows}

    def others(self, row: Mapping[str, Any]) -> list[str]:
        """The names of the distractors of a prompt, in order."""
        return [span["source"] for span in row["prompt"] if span["role"] == "distractor"]


def accepted(text: str, answers: Iterable[str]) -> bool:
    """Whether the metric finds an answer in a text, or it stands there in another writing."""
    value, _ = scores.best_subspan_em(" ".join(text.split()), answers)
    form, clean = normalisation.normalise(text), normalisation.normalise
    return value == 1.0 or any(normalisation.contains(clean(answer), form) for answer in answers)


@pytest.fixture(scope="module")
def stand_ins(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lost_in_the_middle")
    return data.stand_ins(mirror, folder, N, examples=5, distinct=True)


@pytest.fixture(scope="module")
def corpora(stand_ins: Path) -> dict[str, pa.Table]:
    return data.corpora(stand_ins)


@pytest.fixture(scope="module")
def retrieved(stand_ins: Path) -> list[data.Row]:
    return data.read(stand_ins / data.RETRIEVAL)


@pytest.fixture
def made(corpora: dict[str, pa.Table]) -> Callable[..., Made]:
    def make(name: str, **own: Any) -> Made:
        slice_settings = settings(name, **own)
        tables = {
            kind: {lang: corpora[corpus] for corpus, lang in found}
            for kind, found in plan.reads(slice_settings).items()
        }
        return Made(slice_settings, tables)

    return make


def expected(
    retrieved: list[data.Row], sizes: Iterable[int], kind: str = "plain"
) -> dict[tuple[str, int, int], str]:
    """The prompts that the published files give, by question, number of documents and gold index."""
    return {
        (f"{number:05d}", n, gold): data.prompt(row["ctxs"], row["question"], kind=kind)
        for n in sizes
        for gold in PLACES[n]
        for number, row in enumerate(data.documents(retrieved, n, gold))
    }


@pytest.fixture(scope="module")
def cl100k(named_tokenizer: Callable[[str], Tokenizer]) -> Tokenizer:
    return named_tokenizer("cl100k_base")


def printed(rows: pd.DataFrame) -> tuple[str, str, int]:
    """Mean, standard deviation and maximum as the paper prints them."""
    n = rows["n_tokens"].tolist()
    return f"{statistics.mean(n):.1f}", f"{statistics.stdev(n):.1f}", max(n)


def counted(made: Made, table: str, column: str | int) -> pd.DataFrame:
    """The prompts' lengths, of which the table says that they equal the paper's, but not longer ones."""
    rows = made.built.instances.drop_columns(["prompt"]).to_pandas()
    rows["tokenizer"] = "cl100k_base"
    longest = rows["n_tokens"] == rows["n_tokens"].max()
    longer = rows.assign(n_tokens=rows["n_tokens"] + longest)
    for lengths, said in ((rows, "equals"), (longer, "differs: max")):
        found = golden_runs.changed("lost_in_the_middle", table, lengths)
        assert cell(found, tokenizer="cl100k_base", column=column)["comparison"] == said
    return rows


def test_prompts_have_the_paper_s_token_counts(mirror, cl100k) -> None:
    tables = {"questions": {"en": nq_open.read_questions("nq_open", mirror / data.ORACLE)}}
    closed_book = Made(settings("en-closed-book"), tables, cl100k)
    assert printed(counted(closed_book, "table2", "closed_book")) == ("15.3", "2.2", 29)
    oracle = Made(settings("en-oracle"), tables, cl100k)
    assert printed(counted(oracle, "table2", "oracle")) == ("156.0", "41.8", 449)
    # No gold passage lacks its answer; one question accepts "*".
    assert oracle.counts == closed_book.counts == {"answer_of_punctuation": 1}
    rows = data.read(mirror / data.ORACLE)
    assert [*oracle.texts().values()] == [data.prompt(row["ctxs"], row["question"]) for row in rows]
    assert [*closed_book.texts().values()] == [f"Question: {r['question']}\nAnswer:" for r in rows]
    tables = {"pairs_75": {"en": nq_open.read_pairs(mirror / data.pairs_path(75), 75)}}
    own = {"n_pairs": [{"n": 75, "indices": [*INDICES[75]]}], "query_aware_pairs": []}
    rows = counted(Made(settings("en-pairs-uuid-plain", **own), tables, cl100k), "table4", 75)
    for _, group in rows.groupby("gold_index"):
        assert len(group) == 500 and printed(group) == ("3768.7", "25.6", 3844)


def test_released_and_constructed_prompts_are_the_published(made, retrieved) -> None:
    wanted = expected(retrieved, PLACES)
    released = made("en-documents-plain")
    constructed = made("en-documents-plain", source="constructed")
    assert released.texts() == constructed.texts() == wanted and len(wanted) == 15 * N
    ids = [{row["instance_id"] for row in m.rows} for m in (released, constructed)]
    assert ids[0] == ids[1] and len(ids[0]) == 15 * N
    said = {"task": "multi_document_qa", "lang": "en", "distractors": "retrieved"}
    said |= {"order": "relevance", "query_aware": False, "keys": "none", "length": 0}
    said |= {"answer_present": None, "metric": "best_subspan_em"}
    for row in released.rows:
        assert row.items() >= (said | {"max_new_tokens": 100}).items()
        assert row["references"] == retrieved[int(row["example_id"])]["answers"]
        roles = [span["role"] for span in row["prompt"] if span["source"]]
        assert {span["role"] for span in row["prompt"]} <= set(ROLES)
        assert len(roles) == row["n_documents"]
        assert roles.index("needle") == row["gold_index"] and roles.count("needle") == 1
    found = made("en-documents-query-aware", query_aware=[10, 20])
    assert found.texts() == expected(retrieved, (10, 20), "query_aware")
    assert all(row["query_aware"] for row in found.rows)


def test_random_order_is_the_released_scripts_one(made, retrieved) -> None:
    """They shuffle each question's distractors in the file's order, seeded once with 0 for each file."""
    wanted = {}
    for n, gold in [(n, gold) for n, places in PLACES.items() for gold in places]:
        state = random.Random(0)
        for number, row in enumerate(data.documents(retrieved, n, gold)):
            others = [context for context in row["ctxs"] if context["isgold"] is False]
            state.shuffle(others)
            others.insert(gold, row["ctxs"][gold])
            text = data.prompt(others, row["question"], kind="random_order")
            wanted[f"{number:05d}", n, gold] = text
    name, own = "en-documents-random-order", {"random_order": [10, 20, 30]}
    shuffled = made(name, **own)
    assert shuffled.texts() == made(name, **own, source="constructed").texts() == wanted
    assert {row["order"] for row in shuffled.rows} == {"random"}
    # Leaving out questions, or numbers of documents, changes no other's order; the seed changes each.
    some = made(name, random_order=[10, 30], questions=3).texts()
    assert len(some) == 3 * 10 and some.items() < wanted.items()
    assert not made(name, **own, seed=1).texts().items() & wanted.items()


def one_question(**changes: Any) -> Tables:
    """Two questions with three passages each, the first with these changes, the second with other answers."""
    row = {
        **{"example_id": "00000", "title": "Turm", "context": "Der Turm ist von 1873."},
        **{"question": "von wann ist der turm", "answers": ["1873"], "answer_starts": [17]},
        **{"passages": ["0", "1", "2"], "has_answer": [False] * 3, "holds_answer": [False] * 3},
    } | changes
    second = row | {"example_id": "00001", "question": "und wann", "answers": ["turm"]}
    questions = pa.Table.from_pylist([row, second], schema=nq_open.RANKED_QUESTIONS)
    texts = ["(Title: A) a", "(Title: B) b", "(Title: C) c"]
    return {"questions": {"en": questions}, "passages": {"en": passages(texts)}}


def passages(texts: list[str], **more: list[str]) -> pa.Table:
    return pa.table({"passage_id": [str(i) for i in range(len(texts))], "text": texts, **more})


FEW = {"n_documents": [{"n": 3, "gold_indices": [1]}], "query_aware": [3]}
FEW |= {"random_order": [], "random_distractors": []}


def test_the_released_order_is_the_same_with_every_python() -> None:
    ids, none = [str(i) for i in range(19)], [False] * 19
    tables = one_question(passages=ids, has_answer=none, holds_answer=none)
    tables["passages"]["en"] = passages([f"(Title: T{i}) text {i}" for i in range(19)])
    own = {"n_documents": [{"n": 20, "gold_indices": [0]}]}
    made = Made(settings("en-documents-random-order", **own), tables)
    orders = [" ".join(re.findall(r"Title: T(\d+)", made.text(row))) for row in made.rows]
    assert orders == [
        "9 11 14 18 0 16 10 2 3 5 17 4 6 7 15 8 1 13 12",
        "12 15 18 0 16 4 13 14 17 11 6 5 1 8 7 10 2 3 9",
    ]


def test_random_distractors_hold_no_answer_and_were_not_retrieved(made) -> None:
    found, plain = made("en-documents-random-distractors"), made("en-documents-plain")
    documents, own = found.documents, {row["example_id"]: plain.others(row) for row in plain.rows}
    draws = []
    for row in found.rows:
        assert (row["distractors"], row["order"]) == ("random", "random")
        others = found.others(row)
        assert len(set(others)) == 19 and not set(others) & set(own[row["example_id"]])
        assert not any(accepted(documents[source], row["references"]) for source in others)
        draws.append(tuple(others))
    assert len(set(draws)) == N
    assert made("en-documents-random-distractors").rows == found.rows


def test_random_distractors_of_wikipedia_hold_nothing_that_the_metric_accepts() -> None:
    """It drops punctuation and articles: other texts than those that hold the answer itself pass."""
    tables = one_question(answers=["the Commission", "308"], context="Commission 308")
    tables["questions"]["en"] = tables["questions"]["en"].slice(0, 1)
    held = ["a commissioner", "at 3:08", "Nr. ٣٠٨"]
    texts = [f"{held[i % 3]} of {i}" if i % 2 else f"text {i}" for i in range(60)]
    tables["passages"]["en"] = passages(texts, title=[""] * 60)
    slice_settings = settings("en-documents-random-distractors", random_from="wikipedia")
    made = Made(slice_settings, tables)
    assert len(made.rows) == 5
    for row in made.rows:
        sources = [int(source.removeprefix("wikipedia/en/")) for source in made.others(row)]
        assert len(set(sources)) == 19 and all(source % 2 == 0 for source in sources)
    # Of thirty passages fifteen are left, which are too few.
    tables["passages"]["en"] = tables["passages"]["en"].slice(0, 30)
    with pytest.raises(UserError, match="no question of nq_open in 'en' has more than 16"):
        Made(slice_settings, tables)


def test_a_question_that_every_passage_answers_has_no_random_distractors() -> None:
    """As question 01840, whose answer is "S"."""
    tables, found = one_question(answers=["S"]), []
    own = {**FEW, "random_distractors": [3], "random_from": "wikipedia"}
    texts = ["this", "has", "one", "is", "was", "none"]
    for some in (texts, texts[:5]):
        tables["passages"]["en"] = passages(some)
        made = Made(settings("en-documents-random-distractors", **own), tables)
        found.append((made.asked, made.counts))
    assert found == [(["00000", "00001"], {}), (["00001"], {"too_few_documents": 1})]


def test_open_domain_prompts_are_the_retrieved_passages_as_they_come(made, retrieved) -> None:
    found = made("en-open-domain", open_domain=[5, 20, 50])
    assert len(found.rows) == 3 * N
    said = {"gold_index": None, "task": "open_domain", "distractors": "retrieved"}
    for row in found.rows:
        source = retrieved[int(row["example_id"])]
        best = source["ctxs"][: row["n_documents"]]
        assert found.text(row) == data.prompt(best, source["question"])
        present = any(context["hasanswer"] for context in best)
        assert row.items() >= (said | {"order": "relevance", "answer_present": present}).items()
    assert {row["answer_present"] for row in found.rows} == {True, False}


def moved(row: data.Row, index: int) -> list[list[str]]:
    others = [record for record in row["ordered_kv_records"] if record[0] != row["key"]]
    return [*others[:index], [row["key"], row["value"]], *others[index:]]


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("en-pairs-uuid-plain", (75, 140, 300)), ("en-pairs-uuid-query-aware", (75,))],
)
def test_pairs_are_moved_and_the_others_keep_their_order(made, stand_ins, name, sizes) -> None:
    aware = "aware" in name
    found = made(name, examples=5, **({"query_aware_pairs": [75]} if aware else {}))
    prompt = partial(data.pairs_prompt, query_aware=aware)
    wanted = {
        (f"{n}-{number:04d}", n, index): prompt(moved(row, index), row["key"])
        for n in sizes
        for index in INDICES[n]
        for number, row in enumerate(data.read(stand_ins / data.pairs_path(n)))
    }
    assert found.texts() == wanted
    said = {"task": "key_value", "metric": "key_value", "keys": "uuid"}
    said |= {"query_aware": aware, "distractors": "none", "order": "none"}
    for row in found.rows:
        (needle,) = [span for span in row["prompt"] if span["role"] == "needle"]
        (value,) = row["references"]
        assert needle["text"].endswith(f': "{value}"') and row.items() >= said.items()


SMALL = {
    "source": "constructed",
    "n_pairs": [{"n": 9, "indices": [0, 4, 8]}, {"n": 2, "indices": [0, 1]}],
    "query_aware_pairs": [9],
    "examples": 6,
}
RECORD = re.compile(r'^[{ ]"([^"]*)": "([^"]*)"[,}]$', re.MULTILINE)
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def test_uuids_can_be_drawn() -> None:
    words: set[str] = set()
    ids: list[str] = []
    for kind, n in (("plain", 6 * 5), ("query-aware", 6 * 3)):
        found = Made(settings(f"en-pairs-uuid-{kind}", **SMALL), {})
        assert len(found.rows) == n and not found.counts
        for row in found.rows:
            text = found.text(row)
            records = RECORD.findall(text)
            key, value = records[row["gold_index"]]
            assert len(records) == row["n_documents"] and row["references"] == [value]
            assert text == data.pairs_prompt(records, key, query_aware=kind == "query-aware")
            words |= {word for record in records for word in record}
            ids.append(row["instance_id"])
    assert len(words) == 6 * 2 * (9 + 2) and all(map(UUID.fullmatch, words))
    assert len(set(ids)) == len(ids)


def of_words(*words: str, **own: Any) -> Made:
    slice_settings = settings("en-pairs-uuid-plain", **SMALL | own)
    slice_settings |= {"slice": "sw-pairs-words-plain", "lang": "sw", "keys": "words", "words": "w"}
    table = pa.table({"word": list(words), "pos": ["noun"] * len(words)})
    return Made(slice_settings, {"words": {"sw": table}})


def test_keys_and_values_can_be_words_within_no_other() -> None:
    words = [f"neno{i:02d}x" for i in range(30)]
    found = of_words(*words, 'a"b', "NENO07x", "two words", "")
    assert found.counts == {"unusable_words": 4}
    for row in found.rows:
        records = RECORD.findall(found.text(row))
        drawn = [word for record in records for word in record]
        assert len(set(drawn)) == 2 * row["n_documents"] and set(drawn) <= set(words)
        assert row["references"] == [records[row["gold_index"]][1]]
        assert (row["lang"], row["keys"]) == ("sw", "words")
    with pytest.raises(UserError, match=r"n_pairs has 9, which takes 18 words, but w has 17 in"):
        of_words(*words[:17])
    words = [f"{'a' * i}b" for i in range(17)] + ["Zebra"]
    found = of_words(*words, n_pairs=[{"n": 9, "indices": [0]}])
    # All words are in each object: either the longest or "Zebra" is asked for, or nothing can be.
    assert {row["references"][0] for row in found.rows} <= {words[-2], "Zebra"}
    assert len(found.rows) == 6 - found.counts.get("value_within_a_word", 0)


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        ({"context": "Der Turm ist alt."}, {"gold_without_answer_kept": 1}),
        *(({"answers": ["1873", a]}, {"answer_of_punctuation": 1}) for a in ("*", "The", "$")),
    ],
)
def test_peculiar_answers_are_counted(change: dict, counts: dict) -> None:
    made = Made(settings("en-documents-plain", **FEW), one_question(**change))
    assert made.counts == counts and made.asked == ["00000", "00001"]


def test_answers_among_distractors_and_few_documents_are_counted() -> None:
    # The retrieval results say which have an answer, and those are not taken.
    tables = one_question(holds_answer=[False, True, True], has_answer=[True, False, False])
    for source, first in (("released", "(Title: A) a"), ("constructed", "(Title: B) b")):
        made = Made(settings("en-documents-plain", **FEW, source=source), tables)
        # Of the first two documents of each question, both.
        assert made.counts == {"distractors_with_answer": 4}
        lines = f"Document [1]{first}\nDocument [2](Title: Turm)"
        assert lines in made.text(made.rows[0])
    own = {**FEW, "n_documents": [*FEW["n_documents"], {"n": 4, "gold_indices": [0]}]}
    tables = one_question()
    short = tables["questions"]["en"].to_pylist()
    for name in ("passages", "has_answer", "holds_answer"):
        short[0][name] = short[0][name][:2]
    tables["questions"]["en"] = pa.Table.from_pylist(short, schema=nq_open.RANKED_QUESTIONS)
    made = Made(settings("en-documents-plain", **own), tables)
    assert made.counts == {"too_few_documents": 1}
    found = [(row["example_id"], row["n_documents"]) for row in made.rows]
    assert found == [("00000", 3), ("00001", 3), ("00001", 4)]
    own["n_documents"].append({"n": 5, "gold_indices": [4]})
    with pytest.raises(UserError, match=r"n_documents has 5, but no question .* more than 4"):
        Made(settings("en-documents-plain", **own), tables)


def test_own_data_is_asked_with_the_documents_there_are() -> None:
    """It is too small for the others, as the target `own_data` says."""
    numbers = [{"n": 3, "gold_indices": [1]}, {"n": 9, "gold_indices": [0]}]
    tables = one_question()
    found = [
        {"example_id": f"0000{i}", "passage_id": str(n), "rank": n, "retrieval": "semantic"}
        for i in range(2)
        for n in range(3)
    ]
    tables["distractors"] = {"en": pa.Table.from_pylist(found)}

    def made(numbers: list[dict[str, Any]]) -> Made:
        own = settings("en-documents-plain", **FEW | {"n_documents": numbers, "query_aware": []})
        return Made(own | {"needles": "my_questions"}, tables)

    few = made(numbers)
    assert few.counts == {"too_few_documents": 2}
    assert [row["n_documents"] for row in few.rows] == [3, 3]
    with pytest.raises(UserError, match="has 9, but no question of my_questions in 'en' has more"):
        made(numbers[1:])


def test_samples_are_seeded_and_nested_and_missing_ones_counted(made) -> None:
    def asked(name: str = "en-oracle", **own: Any) -> set[str]:
        return set(made(name, **own).asked)

    assert asked(questions=3) < asked(questions=5) < asked()
    assert len(asked(questions=3)) == 3
    assert asked(questions=3) != asked(questions=3, seed=1)
    assert made("en-oracle", questions=N + 2).counts == {"questions_lacking": 2}
    # The same questions in every task.
    assert asked(questions=5) == asked("en-open-domain", questions=5)
    few, more = (asked("en-pairs-uuid-plain", examples=n) for n in (2, 4))
    assert len(few) == 6 and few < more and len(more) == 12
    assert made("en-pairs-uuid-plain", examples=6).counts == {"examples_lacking": 3}


OTHER = {"source": "constructed", "tasks": ["oracle", "multi_document_qa"]}


def searched(questions: pa.Table, passages: pa.Table, top: int = 40) -> pa.Table:
    embedder = NgramHasher(dimensions=256)
    comparison = plan.search(block(**OTHER, needles="xquad"), "en").comparison
    screen = import_module(f"needlework.data.comparison.{comparison}")
    texts, answers = passages["text"].to_pylist(), questions["answers"].to_pylist()
    ranking = search(
        embedder.encode(questions["question"].to_pylist()),
        embedder.encode(texts),
        top,
        AnswerFree(texts, answers, screen.normalise, screen.contains),
    )
    ids = (questions["example_id"].to_pylist(), passages["passage_id"].to_pylist())
    return distractors("semantic", *ids, ranking)


def in_german(name: str, questions: pa.Table, passages: pa.Table, **own: Any) -> Made:
    tables = {"questions": {"de": questions}, "passages": {"de": passages}}
    tables["distractors"] = {"de": searched(questions, passages)}
    return Made(settings(name, **OTHER, languages=["de"], **own), tables)


def test_questions_in_another_language_stand_among_passages_of_it(mirror: Path) -> None:
    questions = extractive.read_xquad(mirror / "xquad/xquad.de.json").slice(0, 400)
    chosen = questions.slice(0, 4)
    made = in_german("de-documents-plain", chosen, titled.passages(questions), needles="xquad")
    assert len(made.rows) == 4 * 15
    asked = {row["example_id"]: row for row in chosen.to_pylist()}
    for row in made.rows:
        check_document_row(row, made.text(row), made.documents)
        item, text = asked[row["example_id"]], made.text(row)
        line = f"\nDocument [{row['gold_index'] + 1}](Title: {item['title']}) {item['context']}\n"
        assert line in text and text.endswith(f"\n\nQuestion: {item['question']}\nAnswer:")
        assert row["references"] == item["answers"] and row["lang"] == "de"
        others = made.others(row)
        assert len(set(others)) == len(others)
        assert not any(accepted(made.documents[name], item["answers"]) for name in others)


@pytest.mark.parametrize("kind", ["plain", "random-order", "random-distractors"])
def test_the_sample_s_passages_have_no_titles(root: Path, kind: str) -> None:
    files = sorted(map(str, (root / "resources/sample").glob("*.json")))
    kinds = ("questions", "passages")
    questions, passages = (sample.table(f"sample_{n}", "de", files, {}) for n in kinds)
    own = FEW | {"needles": "sample_questions", "random_order": [3], "random_distractors": [3]}
    for name, n in ((f"de-documents-{kind}", 3), ("de-oracle", 1)):
        made = in_german(name, questions, passages, **own)
        assert len(made.rows) == 15
        for row in made.rows:
            text = made.text(row)
            check_document_row(row, text, made.documents)
            assert "Title" not in text and WORDS.count(text) == row["n_tokens"]
            assert len(re.findall(r"^Document \[\d\] \S", text, re.MULTILINE)) == n


def test_prompts_are_described(made, tmp_path: Path) -> None:
    for name in ("en-documents-plain", "en-pairs-uuid-plain"):
        built = made(name, examples=6).built
        notes = {"left_out": built.counts}
        write_table(built.instances, tmp_path / f"{name}.parquet", notes=notes)
    table = describe(PROMPTS, sorted(tmp_path.glob("*.parquet")))
    rows = table.set_index(["task", "n_documents"])
    columns = ["prompts", "questions", "places"]
    assert rows.loc[("multi_document_qa", 20), columns].tolist() == [5 * N, N, 5]
    assert rows.loc[("key_value", 300), "places"] == 7
    lacking = table[table["task"] == "left out: examples_lacking"]
    assert lacking["prompts"].tolist() == [3]
