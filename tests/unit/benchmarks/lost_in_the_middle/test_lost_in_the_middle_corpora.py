"""Readers of Lost in the Middle's files: the released ones, stand-ins, and files that are wrong."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path

import pytest

import factories.lost_in_the_middle as data
from needlework.benchmarks.lost_in_the_middle import corpus as nq_open
from needlework.benchmarks.lost_in_the_middle import wikipedia
from needlework.data.corpora import extractive, json_lines, titled
from needlework.data.corpora.registry import languages_of
from needlework.data.published_files import load_registry
from needlework.errors import UserError
from needlework.given import given

GOLD = {"title": "Turm", "text": "Der Turm ist von 1873.", "hasanswer": True, "isgold": True}
OTHER = {"title": "Brücke", "text": "Die Brücke ist neu.", "hasanswer": False, "isgold": False}
THIRD = {"title": "Das Jahr 1873", "text": "Ein Jahr.", "hasanswer": False, "isgold": False}
ROW = {
    "question": "von wann ist der turm",
    "answers": ["1873", "MDCCCLXXIII"],
    "ctxs": [OTHER, GOLD, THIRD],
    "nq_annotated_gold": {
        **{"title": "Turm", "long_answer": "Der Turm ist von 1873. Er ist hoch."},
        **{"chunked_long_answer": "Der Turm ist von 1873.", "short_answers": ["1873"]},
    },
}
PAIRS = {"ordered_kv_records": [["a", "1"], ["b", "2"], ["c", "3"]], "key": "b", "value": "2"}


def lines(folder: Path, *rows: object) -> Path:
    return data.write(folder / "file.jsonl.gz", rows)


def test_the_released_files(mirror) -> None:
    table = nq_open.table("nq_open", "en", [str(mirror / data.ORACLE)], {})
    assert table.schema == nq_open.RANKED_QUESTIONS
    found, rows = table.to_pydict(), data.read(mirror / data.ORACLE)
    assert found["example_id"] == [f"{i:05d}" for i in range(2655)]
    for column in ("question", "answers"):
        assert found[column] == [row[column] for row in rows]
    assert found["context"] == [row["ctxs"][0]["text"] for row in rows]
    assert not any(found["passages"])
    path = mirror / data.pairs_path(75)
    table = nq_open.table("key_value_75", "en", [str(path)], {})
    assert table.schema == nq_open.PAIRS and table.num_rows == 500
    for made, row in zip(table.to_pylist(), data.read(path), strict=True):
        others = [pair for pair in row["ordered_kv_records"] if pair[0] != row["key"]]
        assert (made["key"], made["value"]) == (row["key"], row["value"])
        assert made["text"] == ",\n ".join(f'"{key}": "{value}"' for key, value in others)
        starts = [made["text"][start : start + 37] for start in made["starts"]]
        assert starts == [f'"{key}' for key, _ in others]


@pytest.mark.parametrize(
    ("kind", "file"),
    [("nq_open_released", data.documents_path(30, 0)), ("nq_open_retrieved", data.RETRIEVAL)],
)
def test_stand_ins_are_read_as_they_were_made(mirror, tmp_path, kind, file) -> None:
    folder = data.stand_ins(mirror, tmp_path, 6, examples=1)
    oracle = nq_open.read_questions("nq_open", folder / data.ORACLE).to_pylist()
    questions = nq_open.table(kind, "en", [str(folder / file)], {})
    passages = nq_open.table(f"{kind}_passages", "en", [str(folder / file)], {})
    assert questions.schema == nq_open.RANKED_QUESTIONS and passages.schema == nq_open.TITLED
    ids = passages["passage_id"].to_pylist()
    texts = dict(zip(ids, passages["text"].to_pylist(), strict=True))
    assert ids == sorted(texts) and len(set(texts.values())) == len(texts)
    for made, row, one in zip(questions.to_pylist(), data.read(folder / file), oracle, strict=True):
        same = ("example_id", "title", "context", "question", "answers", "answer_starts")
        assert [made[name] for name in same] == [one[name] for name in same]
        others = [found for found in row["ctxs"] if not found.get("isgold", False)]
        shown = [f"(Title: {found['title']}) {found['text']}" for found in others]
        assert [texts[name] for name in made["passages"]] == shown
        assert made["has_answer"] == [found["hasanswer"] for found in others]


def test_answers_in_titles_and_passages_that_come_twice(tmp_path) -> None:
    (row,) = nq_open.read_questions("nq_open_released", lines(tmp_path, ROW)).to_pylist()
    assert (row["title"], row["context"]) == ("Turm", "Der Turm ist von 1873.")
    assert row["answer_starts"] == [17, -1]
    assert row["has_answer"] == [False, False]
    assert row["holds_answer"] == [False, True]
    # What the metric would accept, and what it does not see.
    for title, text in (("Alt", "Gebaut 18:73."), ("Alt", "١٨٧٣"), ("18", "73")):
        again = ROW | {"ctxs": [OTHER, GOLD, {**THIRD, "title": title, "text": text}]}
        (row,) = nq_open.read_questions("nq_open_released", lines(tmp_path, again)).to_pylist()
        assert row["holds_answer"] == [False, title == "Alt"], text
    again = copy.deepcopy(ROW) | {"ctxs": [THIRD, GOLD, OTHER]}
    path = lines(tmp_path, ROW, again)
    passages = nq_open.read_passages("nq_open_released", path).to_pylist()
    assert [row["text"] for row in passages] == [
        "(Title: Brücke) Die Brücke ist neu.",
        "(Title: Das Jahr 1873) Ein Jahr.",
    ]
    first, second = nq_open.read_questions("nq_open_released", path)["passages"].to_pylist()
    assert first == [row["passage_id"] for row in passages] == second[::-1]


def broken(**changes: object) -> dict:
    """ROW with other fields; None takes a field away."""
    row = copy.deepcopy(ROW) | changes
    return {key: value for key, value in row.items() if value is not None}


def without(context: dict, key: str) -> dict:
    return {name: value for name, value in context.items() if name != key}


NO_BOOL = OTHER | {"hasanswer": "no"}
RELEASED, ORACLE, RETRIEVED = "nq_open_released", "nq_open", "nq_open_retrieved"


@pytest.mark.parametrize(
    ("kind", "row", "problem"),
    [
        (RELEASED, broken(question=None), "lacks the field 'question'"),
        (RELEASED, broken(question=" "), "has an empty question"),
        (RELEASED, broken(question=5), "'question', which is not of type str"),
        (RELEASED, broken(answers=None), "lacks the field 'answers'"),
        (RELEASED, broken(answers=[]), "has no answer"),
        (RELEASED, broken(answers=["a", ""]), "has no answer, or an empty one"),
        (RELEASED, broken(answers=["a", 1873]), "'answers', which is not a list of texts"),
        (RELEASED, broken(ctxs=None), "lacks the field 'ctxs'"),
        (RELEASED, broken(ctxs=["x"]), "lacks the field 'isgold'"),
        (RELEASED, broken(ctxs=[GOLD, GOLD]), "has 2 passages with 'isgold'"),
        (RELEASED, broken(ctxs=[OTHER]), "has 0 passages with 'isgold'"),
        (RELEASED, broken(ctxs=[GOLD, without(OTHER, "title")]), "lacks the field 'title'"),
        (RELEASED, broken(ctxs=[without(GOLD, "text")]), "lacks the field 'text'"),
        (RELEASED, broken(ctxs=[GOLD, NO_BOOL]), "'hasanswer', which is not of type bool"),
        (ORACLE, ROW, "has 3 passages in 'ctxs', but is of the oracle file"),
        (ORACLE, [ROW], "is not a JSON object"),
        (RETRIEVED, broken(nq_annotated_gold=None), "lacks the field 'nq_annotated_gold'"),
        (RETRIEVED, broken(nq_annotated_gold={"title": "T"}), "lacks .* 'chunked_long_answer'"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, kind: str, row: object, problem: str) -> None:
    path = lines(tmp_path, ROW | {"ctxs": [GOLD]} if kind == ORACLE else ROW, row)
    with pytest.raises(UserError, match=rf"file\.jsonl\.gz, line 2 .*{problem}"):
        nq_open.read_questions(kind, path)


def test_a_torn_or_absurd_file_is_an_error(mirror, tmp_path, monkeypatch) -> None:
    whole = (mirror / data.ORACLE).read_bytes()
    torn = tmp_path / "torn.jsonl.gz"
    for content, said in (
        (whole[: len(whole) // 2], r"torn\.jsonl\.gz cannot be read after line \d+ .*delete it"),
        (b"<html>", r"torn\.jsonl\.gz cannot be read after line 0"),
        (gzip.compress(b""), "is empty"),
        (gzip.compress(json.dumps(ROW)[:-9].encode()), "line 1 is not a JSON object"),
    ):
        torn.write_bytes(content)
        with pytest.raises(UserError, match=said):
            nq_open.read_questions("nq_open", torn)
    with pytest.raises(UserError, match=r"none\.jsonl\.gz does not exist"):
        nq_open.read_questions("nq_open", tmp_path / "none.jsonl.gz")
    monkeypatch.setattr(json_lines, "MAX_LINE_BYTES", 100)
    with pytest.raises(UserError, match="line 1 is not a JSON object"):
        list(json_lines.read_lines(lines(tmp_path, {"question": "q" * 200})))


def test_a_file_without_gzip_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps(PAIRS) + "\n")
    (row,) = nq_open.read_pairs(path, 3).to_pylist()
    text = '"a": "1",\n "c": "3"'
    asked = {"key": "b", "value": "2"}
    assert row == {"passage_id": "0000", "text": text, "starts": [0, 11], **asked}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"ordered_kv_records": [["a", "1"], ["b", "2"], ["a", "3"]]}, "has the key 'a' twice in"),
        ({"ordered_kv_records": [["a", "1"], ["b", "2"]]}, "has 2 pairs .* instead of 3"),
        ({"ordered_kv_records": [["a", "1"], ["b", "2"], ["c"]]}, "that are not pairs of texts"),
        ({"ordered_kv_records": {"a": "1"}}, "'ordered_kv_records', which is not of type list"),
        ({"key": "d"}, "asks for the 'key' 'd', whose pair is not in"),
        ({"value": "3"}, "asks for the 'key' 'b', whose pair is not in"),
        ({"key": None}, "has the field 'key', which is not of type str"),
    ],
)
def test_wrong_pairs_are_named(tmp_path: Path, changes: dict, problem: str) -> None:
    path = lines(tmp_path, PAIRS, PAIRS | changes)
    with pytest.raises(UserError, match=rf"file\.jsonl\.gz, line 2 .*{problem}"):
        nq_open.read_pairs(path, 3)
    path = lines(tmp_path, without(PAIRS, "value"))
    with pytest.raises(UserError, match="line 1 lacks the field 'value'"):
        nq_open.read_pairs(path, 3)


def wikipedia_file(folder: Path, *rows: str) -> Path:
    path = folder / "psgs_w100.tsv.gz"
    text = "".join(f"{row}\n" for row in ("id\ttext\ttitle", *rows))
    path.write_bytes(gzip.compress(text.encode()))
    return path


def test_wikipedia_s_passages_are_those_of_the_sampled_ids(tmp_path, monkeypatch) -> None:
    rows = [f"{i}\ttext {i}\ttitle {i}" for i in range(1, 12)]
    rows[9] = '10\t"A ""quoted"" text"\tTitle: (10)'
    path = wikipedia_file(tmp_path, *rows, "a line that is not read")
    found = wikipedia.read(path, [10, 2, 11]).to_pydict()
    titles = ["Title: (10)", "title 11", "title 2"]
    texts = ['A "quoted" text', "text 11", "text 2"]
    shown = [f"(Title: {title}) {text}" for title, text in zip(titles, texts, strict=True)]
    assert found == {"passage_id": ["10", "11", "2"], "text": shown, "title": titles}
    monkeypatch.setattr(wikipedia, "POOL", 11)
    monkeypatch.setattr(wikipedia, "PASSAGES", 4)
    assert wikipedia.table("wikipedia", "en", [str(path)], {"seed": 1}).num_rows == 4


def test_wikipedia_s_sample_is_seeded_and_damage_an_error(tmp_path) -> None:
    ids = wikipedia.sample_ids(1000, 50, 1)
    assert ids == sorted(set(ids)) and ids[0] >= 1 and ids[-1] <= 1000
    assert ids == wikipedia.sample_ids(1000, 50, 1) != wikipedia.sample_ids(1000, 50, 2)
    assert wikipedia.sample_ids(5, 5, 0) == [1, 2, 3, 4, 5]
    path = wikipedia_file(tmp_path, "1\ta\tb", "3\ta\tb", "3\t a", "4\t \tb", '5\t"a\tb')
    for number in (2, 3, 4, 5):
        with pytest.raises(UserError, match=rf"line {number + 1}: it is not passage {number}"):
            wikipedia.read(path, [1, number])
    with pytest.raises(UserError, match=r"ends before passage 9: delete the file"):
        wikipedia.read(path, [1, 9])
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(UserError, match="cannot be read after line"):
        wikipedia.read(path, [1, 9])
    with pytest.raises(UserError, match="does not exist"):
        wikipedia.read(tmp_path / "none.tsv.gz", [1])


def test_paragraphs_become_passages_with_titles(mirror: Path) -> None:
    path = mirror / "xquad/xquad.de.json"
    questions = extractive.read_xquad(path).select(["title", "context"]).to_pylist()
    found = titled.table("xquad_passages", "de", [str(path)], {})
    plain = titled.table("xquad_paragraphs", "de", [str(path)], {})
    assert found.schema == nq_open.TITLED and found.num_rows == 240
    assert plain.column_names == ["passage_id", "text"]
    ids = found["passage_id"].to_pylist()
    assert ids == sorted(ids) == plain["passage_id"].to_pylist()
    wanted = {f"(Title: {row['title']}) {row['context']}" for row in questions}
    assert set(found["text"].to_pylist()) == wanted
    assert set(plain["text"].to_pylist()) == {row["context"] for row in questions}
    path = mirror / "mlqa/MLQA_V1.zip"
    contexts = extractive.read_mlqa(path, "dev", "hi")["context"].to_pylist()
    found = titled.table("mlqa_passages", "hi", [str(path)], given({"split": "dev"}))
    assert found.num_rows == len(set(contexts))


def test_every_corpus_registers_its_files_and_languages(root: Path) -> None:
    sources = load_registry(root / "resources/sources.yaml")
    files = {file.part: file.id for file in sources["lost-in-the-middle"].files}
    pairs = {f"key_value_{n}": data.pairs_path(n) for n in (75, 140, 300)}
    documents = data.documents_path(30, 0)
    wanted = {"oracle": data.ORACLE, "documents": documents, "retrieval": data.RETRIEVAL}
    assert files == wanted | pairs
    for corpus in ("nq_open", "nq_open_released", "nq_open_retrieved_passages", "key_value_75"):
        assert languages_of(corpus) == ("en",)
    assert sources["wikipedia"].languages == ["en"]
