"""Lost in the Middle's prompts are the paper's, to the letter and to the token.

On the released files where there is a mirror, on stand-ins of the others in their own format, and on the
embedded sample with real retrieval.
"""

from __future__ import annotations

import copy
import random
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

import factories.lost_in_the_middle as data
from invariants import check_documents
from needlework.benchmarks.contract import Built
from needlework.benchmarks.lost_in_the_middle import corpus as nq_open
from needlework.benchmarks.lost_in_the_middle import pairs_corpus as key_value
from needlework.benchmarks.lost_in_the_middle import plan, scores
from needlework.benchmarks.lost_in_the_middle.documents import Item, gold_text
from needlework.benchmarks.lost_in_the_middle.factors import COLUMNS
from needlework.benchmarks.lost_in_the_middle.prompts import build
from needlework.benchmarks.lost_in_the_middle.tables import PROMPTS
from needlework.data.comparison import normalisation
from needlework.data.corpora import extractive, sample, titled
from needlework.errors import UserError
from needlework.planning.config import validated
from needlework.prompts.spans import ROLES, Documents, render
from needlework.prompts.tokenizers import Tokenizer, load_tokenizer
from needlework.records import DISTRACTORS, instances_schema, write_table
from needlework.results.page.prompts import describe
from needlework.retrieval.embedders import NgramEmbedder
from needlework.retrieval.search import AnswerFree, distractors, search
from tokenizers_made import TOKENIZERS, tiktoken_cache

ROOT = Path(__file__).resolve().parents[4]
DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
TEMPLATES = sorted(map(str, (ROOT / "resources/prompts/lost_in_the_middle").glob("*.txt")))
WORDS = load_tokenizer("words", {"kind": "words"})
N = 10

Tables = dict[str, dict[str, pa.Table]]


def settings(name: str, seed: int = 0, **own: Any) -> dict[str, Any]:
    """What the configuration says of a slice."""
    config = copy.deepcopy(DEFAULT)
    config["run"]["benchmarks"] = ["lost_in_the_middle"]
    own.setdefault("random_from", "other_questions")
    config["benchmarks"]["lost_in_the_middle"] = own
    found = validated(config)["benchmarks"]["lost_in_the_middle"]
    assert name in plan.slices(found)
    return plan.settings(found | {"seed": seed}, name, [])


class Made:
    """A slice as it was built, with what its prompts refer to."""

    def __init__(
        self, slice_settings: Mapping[str, Any], tables: Tables, tokenizer: Tokenizer
    ) -> None:
        self.built: Built = build(slice_settings, tables, TEMPLATES, tokenizer)
        assert self.built.instances.schema == instances_schema(COLUMNS)
        self.rows = self.built.instances.to_pylist()
        self.documents = Documents()
        for kind, wanted in plan.reads(slice_settings).items():
            for corpus, lang in wanted:
                if kind != "words":
                    self.documents.add(f"{corpus}/{lang}", tables[kind][lang])
        if self.built.documents is not None:
            self.documents.add(
                f"lost_in_the_middle/{slice_settings['slice']}", self.built.documents
            )
        self.counts = {name: count for name, count in self.built.counts.items() if count}

    def text(self, row: Mapping[str, Any]) -> str:
        return render(row["prompt"], self.documents)

    def texts(self) -> dict[tuple[str, int, int | None], str]:
        """The prompts by question, number of documents and gold index."""
        return {
            (row["example_id"], row["n_documents"], row["gold_index"]): self.text(row)
            for row in self.rows
        }


def accepted(text: str, answers: Iterable[str]) -> bool:
    """Whether the metric finds an answer in a text, or it stands there in another writing."""
    value, _ = scores.best_subspan_em(" ".join(text.split()), answers)
    form, clean = normalisation.normalise(text), normalisation.normalise
    return value == 1.0 or any(normalisation.contains(clean(answer), form) for answer in answers)


# Stand-ins


@pytest.fixture(scope="module")
def stand_ins(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lost_in_the_middle")
    return data.stand_ins(mirror, folder, N, distinct=True)


@pytest.fixture(scope="module")
def corpora(stand_ins: Path) -> dict[str, pa.Table]:
    found = {"nq_open": nq_open.read_questions("nq_open", stand_ins / data.ORACLE)}
    for kind, file in (
        ("nq_open_released", data.documents_path(30, 0)),
        ("nq_open_retrieved", data.RETRIEVAL),
    ):
        found[kind] = nq_open.read_questions(kind, stand_ins / file)
        found[f"{kind}_passages"] = nq_open.read_passages(kind, stand_ins / file)
    for n in (75, 140, 300):
        found[f"key_value_{n}"] = key_value.read(stand_ins / data.pairs_path(n), n)
    return found


@pytest.fixture(scope="module")
def retrieved(stand_ins: Path) -> list[data.Row]:
    return data.read(stand_ins / data.RETRIEVAL)


@pytest.fixture
def made(corpora: dict[str, pa.Table]):
    def make(name: str, tokenizer: Tokenizer = WORDS, **own: Any) -> Made:
        slice_settings = settings(name, **own)
        wanted = plan.reads(slice_settings)
        tables = {
            kind: {lang: corpora[corpus] for corpus, lang in found}
            for kind, found in wanted.items()
        }
        return Made(slice_settings, tables, tokenizer)

    return make


def expected(
    retrieved: list[data.Row], places: Mapping[int, list[int]], kind: str = "plain"
) -> dict[tuple[str, int, int], str]:
    """The prompts that the published files give, by question, number of documents and gold index."""
    return {
        (f"{number:05d}", n, gold): data.prompt(row["ctxs"], row["question"], kind=kind)
        for n, indices in places.items()
        for gold in indices
        for number, row in enumerate(data.documents(retrieved, n, gold))
    }


PLACES = {10: [0, 4, 9], 20: [0, 4, 9, 14, 19], 30: [0, 4, 9, 14, 19, 24, 29]}


# Fidelity: the paper's token counts (Tables 2 and 4)


def counts(rows: list[Mapping[str, Any]]) -> tuple[str, str, int]:
    """Mean, standard deviation and maximum as the paper prints them."""
    found = [row["n_tokens"] for row in rows]
    return f"{statistics.mean(found):.1f}", f"{statistics.stdev(found):.1f}", max(found)


@pytest.fixture
def cl100k(mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tokenizer:
    tiktoken_cache(mirror, tmp_path, monkeypatch)
    return load_tokenizer("cl100k", {"kind": "tiktoken", "encoding": "cl100k_base"})


def test_closed_book_and_oracle_have_the_paper_s_token_counts(
    mirror: Path, cl100k: Tokenizer
) -> None:
    tables = {"questions": {"en": nq_open.read_questions("nq_open", mirror / data.ORACLE)}}
    closed_book = Made(settings("en-closed-book"), tables, cl100k)
    assert counts(closed_book.rows) == ("15.3", "2.2", 29)
    oracle = Made(settings("en-oracle"), tables, cl100k)
    assert counts(oracle.rows) == ("156.0", "41.8", 449)
    # No gold passage lacks its answer; one question accepts "*".
    assert oracle.counts == closed_book.counts == {"answer_of_punctuation": 1}
    rows = data.read(mirror / data.ORACLE)
    assert list(oracle.texts().values()) == [
        data.prompt(row["ctxs"], row["question"]) for row in rows
    ]
    assert list(closed_book.texts().values()) == [
        f"Question: {row['question']}\nAnswer:" for row in rows
    ]


def test_75_pairs_have_the_paper_s_token_counts(mirror: Path, cl100k: Tokenizer) -> None:
    tables = {"pairs_75": {"en": key_value.read(mirror / data.pairs_path(75), 75)}}
    indices = [0, 24, 49, 74]
    own = {"n_pairs": [{"n": 75, "indices": indices}], "query_aware_pairs": []}
    made = Made(settings("en-pairs-uuid-plain", **own), tables, cl100k)
    for index in indices:
        rows = [row for row in made.rows if row["gold_index"] == index]
        assert len(rows) == 500
        assert counts(rows) == ("3768.7", "25.6", 3844)


# Multi-document question answering


def test_released_and_constructed_prompts_are_those_of_every_published_file(
    made, retrieved
) -> None:
    wanted = expected(retrieved, PLACES)
    assert len(wanted) == 15 * N
    released = made("en-documents-plain")
    assert released.texts() == wanted
    constructed = made("en-documents-plain", source="constructed")
    assert constructed.texts() == wanted
    ids = [{row["instance_id"] for row in m.rows} for m in (released, constructed)]
    assert ids[0] == ids[1] and len(ids[0]) == 15 * N


def test_a_row_says_what_its_prompt_is(made, retrieved) -> None:
    answers = [row["answers"] for row in retrieved]
    for row in made("en-documents-plain").rows:
        assert row["task"] == "multi_document_qa" and row["lang"] == "en"
        assert (row["distractors"], row["order"], row["query_aware"]) == (
            "retrieved",
            "relevance",
            False,
        )
        assert (row["keys"], row["length"], row["answer_present"], row["unambiguous"]) == (
            "none",
            0,
            None,
            None,
        )
        assert (row["metric"], row["max_new_tokens"]) == ("best_subspan_em", 100)
        assert row["references"] == answers[int(row["example_id"])]
        roles = [span["role"] for span in row["prompt"] if span["source"]]
        assert {span["role"] for span in row["prompt"]} <= set(ROLES)
        assert len(roles) == row["n_documents"]
        assert roles.index("needle") == row["gold_index"] and roles.count("needle") == 1


def test_query_aware_prompts(made, retrieved) -> None:
    found = made("en-documents-query-aware", query_aware=[10, 20])
    assert found.texts() == expected(retrieved, {n: PLACES[n] for n in (10, 20)}, "query_aware")
    assert all(row["query_aware"] for row in found.rows)


DOCUMENT = re.compile(r"^Document \[(\d+)\]\(Title: (.*)$", re.MULTILINE)


def test_random_order_keeps_the_gold_document_and_the_set(made) -> None:
    plain, shuffled = made("en-documents-plain").texts(), made("en-documents-random-order").texts()
    assert len(shuffled) == 5 * N
    same = 0
    for (example, n, gold), text in shuffled.items():
        assert text.startswith(
            "Write a high-quality answer for the given question using only the provided search "
            "results (some of which might be irrelevant). The search results are ordered randomly.\n\n"
            "Document [1]"
        )
        documents = [found for _, found in DOCUMENT.findall(text)]
        ranked = [found for _, found in DOCUMENT.findall(plain[example, n, gold])]
        assert [number for number, _ in DOCUMENT.findall(text)] == [str(i + 1) for i in range(n)]
        assert documents[gold] == ranked[gold]
        assert sorted(documents) == sorted(ranked)
        same += documents == ranked
        # One order for all places of the gold document.
        first = [found for _, found in DOCUMENT.findall(shuffled[example, n, 0])]
        assert documents[:gold] + documents[gold + 1 :] == first[1:]
    assert not same


def test_random_order_depends_on_the_seed_alone(made) -> None:
    shuffled = made("en-documents-random-order")
    assert made("en-documents-random-order", source="constructed").texts() == shuffled.texts()
    other = made("en-documents-random-order", seed=1).texts()
    assert all(other[key] != text for key, text in shuffled.texts().items())


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
    own = {"random_order": [10, 20, 30]}
    assert made("en-documents-random-order", **own).texts() == wanted
    assert made("en-documents-random-order", **own, source="constructed").texts() == wanted
    # Leaving out questions changes no other's order.
    some = made("en-documents-random-order", **own, questions=3).texts()
    assert len(some) == 3 * 15 and some.items() < wanted.items()


def test_the_released_order_is_the_same_with_every_python() -> None:
    released = [
        *([9, 11, 14, 18, 0, 16, 10, 2, 3, 5, 17, 4, 6, 7, 15, 8, 1, 13, 12],),
        *([12, 15, 18, 0, 16, 4, 13, 14, 17, 11, 6, 5, 1, 8, 7, 10, 2, 3, 9],),
    ]
    ids = [str(i) for i in range(19)]
    tables = one_question(passages=ids, has_answer=[False] * 19, holds_answer=[False] * 19)
    texts = [f"(Title: T{i}) text {i}" for i in range(19)]
    tables["passages"]["en"] = pa.table({"passage_id": ids, "text": texts})
    own = {"n_documents": [{"n": 20, "gold_indices": [0]}]}
    made = Made(settings("en-documents-random-order", **own), tables, WORDS)
    assert [
        [int(title) for title in re.findall(r"Title: T(\d+)", made.text(row))] for row in made.rows
    ] == released


def test_random_distractors_hold_no_answer_and_were_not_retrieved(made, retrieved) -> None:
    found = made("en-documents-random-distractors")
    plain = made("en-documents-plain").texts()
    draws = []
    for row in found.rows:
        (example, n, gold), text = (
            (row["example_id"], row["n_documents"], row["gold_index"]),
            found.text(row),
        )
        assert (row["distractors"], row["order"]) == ("random", "random")
        documents = [found for _, found in DOCUMENT.findall(text)]
        assert len(set(documents)) == n == 20
        own = [found for _, found in DOCUMENT.findall(plain[example, n, gold])]
        assert documents[gold] == own[gold]
        others = documents[:gold] + documents[gold + 1 :]
        assert not set(others) & set(own)
        assert not any(accepted(document, row["references"]) for document in others)
        draws.append(tuple(others))
    assert len(set(draws)) == N


def test_random_distractors_of_wikipedia(corpora) -> None:
    texts = [f"text {i} of 1901" if i % 2 else f"text {i}" for i in range(60)]
    passages = pa.table(
        {
            "passage_id": [f"{i}" for i in range(60)],
            "text": [f"(Title: T{i}) {text}" for i, text in enumerate(texts)],
            "title": [f"T{i}" for i in range(60)],
        }
    )
    questions = corpora["nq_open_released"].slice(0, 3).to_pylist()
    for row in questions:
        row |= {"answers": ["1901"], "context": "It was 1901."}
    tables = {
        "questions": {"en": pa.Table.from_pylist(questions, schema=nq_open.RANKED_QUESTIONS)},
        "passages": {"en": passages},
    }
    slice_settings = settings("en-documents-random-distractors", random_from="wikipedia")
    made = Made(slice_settings, tables, WORDS)
    assert len(made.rows) == 15
    for row in made.rows:
        sources = [span["source"] for span in row["prompt"] if span["role"] == "distractor"]
        assert len(set(sources)) == 19
        assert all(int(source.removeprefix("wikipedia/en/")) % 2 == 0 for source in sources)
    # Seven more documents with an answer make no difference; thirty that have one leave too few.
    with pytest.raises(
        UserError, match="no question of nq_open in 'en' has more than 16 documents"
    ):
        Made(slice_settings, tables | {"passages": {"en": passages.slice(0, 30)}}, WORDS)


def test_random_distractors_hold_nothing_that_the_metric_accepts() -> None:
    """It drops punctuation and articles: other texts than those that hold the answer itself pass."""
    texts = ["a commissioner", "at 3:08", "Nr. ٣٠٨", "the rest", "of it", "all"]
    rows = one_question(answers=["the Commission", "308"])["questions"]["en"].slice(0, 1)
    passages = pa.table({"passage_id": [*"012345"], "text": texts, "title": [""] * 6})
    tables = {"questions": {"en": rows}, "passages": {"en": passages}}
    own = {**FEW, "n_documents": [{"n": 4, "gold_indices": [1]}], "query_aware": []}
    own |= {"random_distractors": [4], "random_from": "wikipedia"}
    made = Made(settings("en-documents-random-distractors", **own), tables, WORDS)
    (row,) = made.rows
    others = [span["source"] for span in row["prompt"] if span["role"] == "distractor"]
    assert {made.documents[source] for source in others} == {"the rest", "of it", "all"}


def test_a_question_that_every_passage_answers_has_no_random_distractors(tmp_path: Path) -> None:
    """As question 01840, whose answer is "S"; the table of prompts says how many there are."""
    tables = one_question(answers=["S"])
    texts = ["this", "has", "one", "is", "was", "none"]
    tables["passages"]["en"] = pa.table({"passage_id": [*"012345"], "text": texts})
    own = {**FEW, "random_distractors": [3], "random_from": "wikipedia"}
    made = Made(settings("en-documents-random-distractors", **own), tables, WORDS)
    assert [row["example_id"] for row in made.rows] == ["00000", "00001"]
    tables["passages"]["en"] = tables["passages"]["en"].slice(0, 5)
    made = Made(settings("en-documents-random-distractors", **own), tables, WORDS)
    assert [row["example_id"] for row in made.rows] == ["00001"]
    assert made.counts == {"too_few_documents": 1}
    write_table(made.built.instances, tmp_path / "a.parquet", notes={"left_out": made.counts})
    table = describe(PROMPTS, [tmp_path / "a.parquet"]).set_index("task")
    assert table.loc["left out: too_few_documents", "prompts"] == 1


# Open domain


def test_open_domain_prompts_are_the_retrieved_passages_as_they_come(made, retrieved) -> None:
    found = made("en-open-domain", open_domain=[5, 20, 50])
    assert len(found.rows) == 3 * N
    present = set()
    for row in found.rows:
        source, k = retrieved[int(row["example_id"])], row["n_documents"]
        best = source["ctxs"][:k]
        assert found.text(row) == data.prompt(best, source["question"])
        assert row["answer_present"] == any(context["hasanswer"] for context in best)
        assert row["gold_index"] is None and row["task"] == "open_domain"
        assert (row["distractors"], row["order"]) == ("retrieved", "relevance")
        present.add((row["example_id"], row["answer_present"]))
    assert {answer for _, answer in present} == {True, False}


# Key-value retrieval


def moved(row: data.Row, index: int) -> list[list[str]]:
    others = [record for record in row["ordered_kv_records"] if record[0] != row["key"]]
    return [*others[:index], [row["key"], row["value"]], *others[index:]]


@pytest.mark.parametrize("query_aware", [False, True])
def test_pairs_are_moved_and_the_others_keep_their_order(made, stand_ins, query_aware) -> None:
    found = made(f"en-pairs-uuid-{'query-aware' if query_aware else 'plain'}", examples=20)
    wanted = {
        (f"{n}-{number:04d}", n, index): data.pairs_prompt(
            moved(row, index), row["key"], query_aware=query_aware
        )
        for n, indices in (
            (75, [0, 24, 49, 74]),
            (140, [0, 34, 69, 104, 139]),
            (300, [0, 49, 99, 149, 199, 249, 299]),
        )
        for index in indices
        for number, row in enumerate(data.read(stand_ins / data.pairs_path(n)))
    }
    assert found.texts() == wanted and len(wanted) == 16 * 20
    for row in found.rows:
        (needle,) = [span for span in row["prompt"] if span["role"] == "needle"]
        (value,) = row["references"]
        assert needle["text"].endswith(f': "{value}"')
        assert (row["task"], row["metric"], row["keys"]) == ("key_value", "key_value", "uuid")
        assert row["query_aware"] == query_aware
        assert (row["distractors"], row["order"]) == ("none", "none")


def test_a_sample_of_examples_is_nested_and_missing_ones_counted(made) -> None:
    few = {row["example_id"] for row in made("en-pairs-uuid-plain", examples=5).rows}
    more = {row["example_id"] for row in made("en-pairs-uuid-plain", examples=9).rows}
    assert len(few) == 15 and few < more and len(more) == 27
    assert made("en-pairs-uuid-plain", examples=21).counts == {"examples_lacking": 3}


SMALL = {
    "source": "constructed",
    "n_pairs": [{"n": 9, "indices": [0, 4, 8]}, {"n": 2, "indices": [0, 1]}],
    "query_aware_pairs": [9],
    "examples": 6,
}
RECORD = re.compile(r'^[{ ]"([^"]*)": "([^"]*)"[,}]$', re.MULTILINE)


def test_uuids_can_be_drawn() -> None:
    found = Made(settings("en-pairs-uuid-plain", **SMALL), {}, WORDS)
    assert len(found.rows) == 6 * 5 and not found.counts
    seen = set()
    for row in found.rows:
        text = found.text(row)
        records = RECORD.findall(text)
        key, value = records[row["gold_index"]]
        assert len(records) == row["n_documents"] and row["references"] == [value]
        assert text == data.pairs_prompt(records, key)
        assert all(
            re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", k) for k, _ in records
        )
        seen |= {word for record in records for word in record}
    assert len(seen) == 6 * 2 * (9 + 2)
    aware = Made(settings("en-pairs-uuid-query-aware", **SMALL), {}, WORDS)
    for row in aware.rows:
        records = RECORD.findall(aware.text(row))
        key, _ = records[row["gold_index"]]
        assert aware.text(row) == data.pairs_prompt(records, key, query_aware=True)
    assert not {row["instance_id"] for row in found.rows} & {
        row["instance_id"] for row in aware.rows
    }


def vocabulary(*words: str) -> Tables:
    return {"words": {"sw": pa.table({"word": list(words), "pos": ["noun"] * len(words)})}}


def with_words(**own: Any) -> dict[str, Any]:
    slice_settings = settings("en-pairs-uuid-plain", **SMALL | own)
    return slice_settings | {
        "slice": "sw-pairs-words-plain",
        "lang": "sw",
        "keys": "words",
        "words": "w",
    }


def test_keys_and_values_can_be_words() -> None:
    words = [f"neno{i:02d}x" for i in range(30)]
    found = Made(with_words(), vocabulary(*words, 'a"b', "NENO07x", "two words", ""), WORDS)
    assert found.counts == {"unusable_words": 4}
    for row in found.rows:
        records = RECORD.findall(found.text(row))
        drawn = [word for record in records for word in record]
        assert len(set(drawn)) == 2 * row["n_documents"] and set(drawn) <= set(words)
        assert row["references"] == [records[row["gold_index"]][1]]
        assert (row["lang"], row["keys"]) == ("sw", "words")


def test_a_value_within_another_word_is_not_asked_for() -> None:
    words = [f"{'a' * i}b" for i in range(17)] + ["Zebra"]
    found = Made(with_words(n_pairs=[{"n": 9, "indices": [0]}]), vocabulary(*words), WORDS)
    # All words are in each object: either the longest or "Zebra" is asked for, or nothing can be.
    assert {row["references"][0] for row in found.rows} <= {words[-2], "Zebra"}
    assert len(found.rows) == 6 - found.counts.get("value_within_a_word", 0)


def test_too_small_a_vocabulary_is_an_error() -> None:
    with pytest.raises(
        UserError, match=r"n_pairs has 9, which takes 18 words, but w has 17 in 'sw'"
    ):
        Made(with_words(), vocabulary(*(f"neno{i}" for i in range(17))), WORDS)


# Lengths


@pytest.fixture(scope="module", params=list(TOKENIZERS))
def tokenizer(request, tmp_path_factory) -> Iterator[Tokenizer]:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "cl100k":
            folder = tmp_path_factory.mktemp("tiktoken")
            tiktoken_cache(request.getfixturevalue("mirror"), folder, patch)
        yield load_tokenizer(request.param, TOKENIZERS[request.param])


SLICES = {
    "en-documents-plain": {"questions": 6},
    "en-documents-query-aware": {"questions": 3},
    "en-documents-random-order": {"questions": 3},
    "en-documents-random-distractors": {"questions": 3},
    "en-open-domain": {"questions": 3},
    "en-oracle": {},
    "en-closed-book": {},
    "en-pairs-uuid-plain": {"examples": 2},
    "en-pairs-uuid-query-aware": {"examples": 2},
}


def awkward(corpora: Mapping[str, pa.Table]) -> Iterator[tuple[str, pa.Table]]:
    """The corpora, with endings and beginnings of texts that tokenizers join with line ends."""
    odd = ["…\n", " ", '."', "¡", "\t", "。", ".\n\n", " 7", "```", "'s"]
    for name, table in corpora.items():
        column = "context" if "context" in table.column_names else "text"
        if "starts" not in table.column_names:
            texts = [f"{text}{odd[i % 10]}" for i, text in enumerate(table[column].to_pylist())]
            table = table.set_column(table.column_names.index(column), column, [texts])
        yield name, table


@pytest.mark.parametrize("name", SLICES)
def test_lengths_are_exact(corpora, tokenizer: Tokenizer, name: str) -> None:
    odd = dict(awkward(corpora))
    slice_settings = settings(name, **SLICES[name])
    tables = {
        kind: {lang: odd[corpus] for corpus, lang in found}
        for kind, found in plan.reads(slice_settings).items()
    }
    for own in (tokenizer, Tokenizer(tokenizer.name, tokenizer.count)):
        found = Made(slice_settings, tables, own)
        for row in found.rows:
            assert tokenizer.count(found.text(row)) == row["n_tokens"]


def test_where_lines_do_not_add_up_every_prompt_is_tokenized(made) -> None:
    joined = Tokenizer("joined", lambda text: len(text.replace("\nDocument", "")) // 7)
    found = made("en-documents-plain", joined)
    assert all(joined.count(found.text(row)) == row["n_tokens"] for row in found.rows)


# What is wrong with the data, and what is worth knowing


def one_question(**changes: Any) -> Tables:
    row = {
        "example_id": "00000",
        "title": "Turm",
        "context": "Der Turm ist von 1873.",
        "question": "von wann ist der turm",
        "answers": ["1873"],
        "answer_starts": [17],
        "passages": ["0", "1", "2"],
        "has_answer": [False] * 3,
        "holds_answer": [False] * 3,
    } | changes
    passages = {
        "passage_id": ["0", "1", "2"],
        "text": ["(Title: A) a", "(Title: B) b", "(Title: C) c"],
    }
    second = row | {"example_id": "00001", "question": "und wann", "answers": ["turm"]}
    return {
        "questions": {"en": pa.Table.from_pylist([row, second], schema=nq_open.RANKED_QUESTIONS)},
        "passages": {"en": pa.table(passages)},
    }


FEW = {"n_documents": [{"n": 3, "gold_indices": [1]}], "query_aware": [3]}
FEW |= {"random_order": [], "random_distractors": []}


def test_gold_passages_without_an_answer_are_counted() -> None:
    tables = one_question(context="Der Turm ist alt.")
    kept = Made(settings("en-documents-plain", **FEW), tables, WORDS)
    assert len(kept.rows) == 2 and kept.counts == {"gold_without_answer_kept": 1}
    dropped = Made(settings("en-documents-plain", **FEW, gold_without_answer="drop"), tables, WORDS)
    assert [row["example_id"] for row in dropped.rows] == ["00001"]
    assert dropped.counts == {"gold_without_answer": 1}


def test_released_distractors_with_an_answer_are_counted() -> None:
    tables = one_question(holds_answer=[False, True, True], has_answer=[True, False, False])
    made = Made(settings("en-documents-plain", **FEW), tables, WORDS)
    # Of the first two documents of each question, both.
    assert made.counts == {"distractors_with_answer": 4}
    assert "Document [1](Title: A) a\nDocument [2](Title: Turm)" in made.text(made.rows[0])
    # The retrieval results say which have an answer, and those are not taken.
    made = Made(settings("en-documents-plain", **FEW, source="constructed"), tables, WORDS)
    assert made.counts == {"distractors_with_answer": 4}
    assert "Document [1](Title: B) b\nDocument [2](Title: Turm)" in made.text(made.rows[0])


def test_the_invariant_of_one_needle_compares_as_the_metric_does(tmp_path: Path) -> None:
    tables = one_question(answers=["the Commission"], context="Im Turm, The Commission")
    path = tmp_path / "a.parquet"
    for text, kept in (("(Title: C) committee", True), ("(Title: C) commissioner", False)):
        passages = {"passage_id": ["0", "1", "2"], "text": ["a", "b", text]}
        tables["passages"]["en"] = pa.table(passages)
        own = {**FEW, "n_documents": [{"n": 4, "gold_indices": [1]}], "query_aware": []}
        made = Made(settings("en-documents-plain", **own), tables, WORDS)
        write_table(made.built.instances, path)
        if kept:
            assert check_documents([path], made.documents, WORDS) == 2
        else:
            with pytest.raises(AssertionError):
                check_documents([path], made.documents, WORDS)


def test_questions_with_too_few_documents_are_counted() -> None:
    own = {**FEW, "n_documents": [*FEW["n_documents"], {"n": 4, "gold_indices": [0]}]}
    tables = one_question()
    short = tables["questions"]["en"].to_pylist()
    for name in ("passages", "has_answer", "holds_answer"):
        short[0][name] = short[0][name][:2]
    tables["questions"]["en"] = pa.Table.from_pylist(short, schema=nq_open.RANKED_QUESTIONS)
    made = Made(settings("en-documents-plain", **own), tables, WORDS)
    assert made.counts == {"too_few_documents": 1}
    assert [(r["example_id"], r["n_documents"]) for r in made.rows] == [
        ("00000", 3),
        ("00001", 3),
        ("00001", 4),
    ]
    own["n_documents"].append({"n": 5, "gold_indices": [4]})
    with pytest.raises(
        UserError, match=r"n_documents has 5, but no question of nq_open in 'en' has more than 4"
    ):
        Made(settings("en-documents-plain", **own), tables, WORDS)


def test_an_answer_of_punctuation_is_counted() -> None:
    tables = one_question(answers=["1873", "*"])
    assert Made(settings("en-oracle"), tables, WORDS).counts == {"answer_of_punctuation": 1}
    # Nothing is left of an article either, nor of a symbol that others keep.
    for answer in ("The", "$"):
        found = Made(settings("en-oracle"), one_question(answers=["1873", answer]), WORDS)
        assert found.counts == {"answer_of_punctuation": 1}


def test_the_unambiguous_subset(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("und wann\n", encoding="utf-8")
    own = {**FEW, "unambiguous": str(path)}
    made = Made(settings("en-documents-plain", **own), one_question(), WORDS)
    assert [row["unambiguous"] for row in made.rows] == [False, True] and not made.counts
    path.write_text("und wann\nund warum\n", encoding="utf-8")
    with pytest.raises(
        UserError,
        match=r"names 1 of 2 questions that nq_open does not have in 'en', such as 'und warum'",
    ):
        Made(settings("en-documents-plain", **own), one_question(), WORDS)


# Samples and determinism


def test_a_sample_of_questions_is_seeded_and_nested(made) -> None:
    def asked(**own: Any) -> set[str]:
        return {row["example_id"] for row in made("en-oracle", **own).rows}

    assert asked(questions=4) < asked(questions=7) < asked()
    assert len(asked(questions=4)) == 4
    assert asked(questions=5) != asked(questions=5, seed=1)
    assert made("en-oracle", questions=N + 2).counts == {"questions_lacking": 2}
    # The same questions in every task.
    assert asked(questions=5) == {
        row["example_id"] for row in made("en-open-domain", questions=5).rows
    }


def test_the_same_settings_give_the_same_bytes(made, tmp_path: Path) -> None:
    for name in ("en-documents-random-order", "en-documents-random-distractors"):
        files = []
        for turn in range(2):
            path = tmp_path / f"{turn}.parquet"
            write_table(made(name).built.instances, path)
            files.append(path.read_bytes())
        assert files[0] == files[1]


def test_another_number_of_documents_changes_no_other_prompt(made) -> None:
    few = made("en-documents-random-order", random_order=[10])
    more = made("en-documents-random-order", random_order=[10, 30])
    assert few.texts().items() < more.texts().items()


# Other languages

OTHER = {"source": "constructed", "tasks": ["oracle", "multi_document_qa"]}
XQUAD = {**OTHER, "needles": "xquad"}


def searched(questions: pa.Table, passages: pa.Table, top: int = 40) -> pa.Table:
    """Distractors of real retrieval with the demo's embedder."""
    embedder = NgramEmbedder(dimensions=256)
    screen = import_module(f"needlework.data.comparison.{plan.search(XQUAD, 'en').comparison}")
    answers = questions["answers"].to_pylist()
    ranking = search(
        embedder.encode(questions["question"].to_pylist()),
        embedder.encode(passages["text"].to_pylist()),
        top,
        AnswerFree(passages["text"].to_pylist(), answers, screen.normalise, screen.contains),
    )
    ids = (questions["example_id"].to_pylist(), passages["passage_id"].to_pylist())
    found = distractors("semantic", *ids, ranking)
    assert found.schema == DISTRACTORS
    return found


def in_language(slice_settings: dict[str, Any], questions: pa.Table, passages: pa.Table) -> Made:
    lang = slice_settings["lang"]
    tables = {"questions": {lang: questions}, "passages": {lang: passages}}
    tables["distractors"] = {lang: searched(questions, passages)}
    return Made(slice_settings, tables, WORDS)


def test_questions_in_another_language_stand_among_passages_of_it(mirror: Path) -> None:
    questions = extractive.read_xquad(mirror / "xquad/xquad.de.json")
    passages = titled.passages(questions)
    own = {**XQUAD, "languages": ["de"]}
    slice_settings = settings("de-documents-plain", **own)
    made = in_language(slice_settings, questions.slice(0, 12), passages)
    assert len(made.rows) == 12 * 15
    asked = {row["example_id"]: row for row in questions.to_pylist()}
    for row in made.rows:
        item, text = asked[row["example_id"]], made.text(row)
        documents = text.split("\n\nQuestion: ")[0].split("\n\n", 1)[1]
        gold = row["gold_index"] + 1
        line = f"Document [{gold}](Title: {item['title']}) {item['context']}"
        assert line in documents and text.endswith(f"\n\nQuestion: {item['question']}\nAnswer:")
        assert row["references"] == item["answers"] and row["lang"] == "de"
        others = [
            made.documents[span["source"]] for span in row["prompt"] if span["role"] == "distractor"
        ]
        assert len(set(others)) == row["n_documents"] - 1
        assert not any(accepted(text, item["answers"]) for text in others)


def test_a_distractor_that_the_metric_would_accept_is_not_found(mirror: Path) -> None:
    """XQuAD's English questions have such passages among the nearest: "commissioner" for "Commission"."""
    questions = extractive.read_xquad(mirror / "xquad/xquad.en.json")
    passages = titled.passages(questions)
    texts = passages["text"].to_pylist()
    asked = [
        row["example_id"]
        for row in questions.to_pylist()
        if "the Commission" in row["answers"] or "308" in row["answers"]
    ]
    chosen = pa.compute.is_in(questions["example_id"], pa.array(asked))
    questions = questions.filter(chosen)
    assert questions.num_rows
    found = searched(questions, passages, len(texts))
    rows = dict(zip(passages["passage_id"].to_pylist(), texts, strict=True))
    missed = 0
    for row in questions.to_pylist():
        own = found.filter(pa.compute.equal(found["example_id"], row["example_id"]))
        allowed = {rows[name] for name in own["passage_id"].to_pylist()}
        assert allowed == {text for text in texts if not accepted(text, row["answers"])}
        answers = list(map(normalisation.normalise, row["answers"]))
        missed += sum(
            text not in allowed
            and not any(normalisation.contains(a, normalisation.normalise(text)) for a in answers)
            for text in texts
        )
    # Passages that the comparison of MLNeedle would let through.
    assert missed


def test_the_sample_s_passages_have_no_titles() -> None:
    files = sorted(map(str, (ROOT / "resources/sample").glob("*.json")))
    questions = sample.table("sample_questions", "de", files, {})
    passages = sample.table("sample_passages", "de", files, {})
    own = {
        **OTHER,
        "needles": "sample_questions",
        "languages": ["de"],
        **FEW,
        "random_order": [3],
        "random_distractors": [3],
    }
    for name in (
        "de-documents-plain",
        "de-documents-random-order",
        "de-documents-random-distractors",
    ):
        made = in_language(settings(name, **own), questions, passages)
        assert len(made.rows) == 15
        for row in made.rows:
            text = made.text(row)
            assert "Title" not in text and WORDS.count(text) == row["n_tokens"]
            assert re.search(r"^Document \[1\] \S", text, re.MULTILINE)
            assert re.search(r"^Document \[3\] \S", text, re.MULTILINE)
            (gold,) = [s["source"] for s in row["prompt"] if s["role"] == "needle"]
            assert gold == f"sample_questions/de/{row['example_id']}"
    oracle = Made(settings("de-oracle", **own), {"questions": {"de": questions}}, WORDS)
    assert all("\n\nDocument [1] " in oracle.text(row) for row in oracle.rows)


# The table of prompts


def test_prompts_are_described(made, tmp_path: Path) -> None:
    files = []
    for name in ("en-closed-book", "en-documents-plain", "en-pairs-uuid-plain"):
        built = made(name, examples=21).built
        files.append(tmp_path / f"{name}.parquet")
        write_table(built.instances, files[-1], notes={"left_out": built.counts})
    table = describe(PROMPTS, files)
    rows = {(row["task"], row["n_documents"]): row for row in table.to_dict("records")}
    assert rows["multi_document_qa", 20]["prompts"] == 5 * N
    assert rows["multi_document_qa", 20]["questions"] == N
    assert rows["multi_document_qa", 20]["places"] == 5
    assert rows["closed_book", 0]["prompts"] == N
    assert rows["key_value", 300]["places"] == 7
    notes = table[table["task"].str.startswith(("left out", "found"))]
    assert (
        dict(zip(notes["task"], notes["prompts"], strict=True)).items()
        >= {
            "left out: examples_lacking": 3,
        }.items()
    )
    assert set(notes["task"]) <= {"left out: examples_lacking", "found: distractors_with_answer"}


def test_a_gold_passage_has_a_title_only_among_titled_ones() -> None:
    item = Item("1", "Who?", ["a"], "A title", "A text.", "made", None)
    assert gold_text(item, titles=False) == "A text."
    assert "A title" in gold_text(item, titles=True)
