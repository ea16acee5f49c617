"""Readers of Lost in the Middle's files: the released ones, stand-ins, and files that are wrong."""

from __future__ import annotations

import copy
import gzip
import json
import re
from pathlib import Path

import pytest

import factories.lost_in_the_middle as data
from needlework.benchmarks.lost_in_the_middle import corpus as nq_open
from needlework.benchmarks.lost_in_the_middle import pairs_corpus as key_value
from needlework.benchmarks.lost_in_the_middle import wikipedia
from needlework.data.corpora import extractive, json_lines, titled
from needlework.data.corpora.registry import languages_of
from needlework.data.registry import load_registry
from needlework.errors import UserError

GOLD = {"title": "Turm", "text": "Der Turm ist von 1873.", "hasanswer": True, "isgold": True}
OTHER = {"title": "Brücke", "text": "Die Brücke ist neu.", "hasanswer": False, "isgold": False}
THIRD = {"title": "Das Jahr 1873", "text": "Ein Jahr.", "hasanswer": False, "isgold": False}
ROW = {
    "question": "von wann ist der turm",
    "answers": ["1873", "MDCCCLXXIII"],
    "ctxs": [OTHER, GOLD, THIRD],
    "nq_annotated_gold": {
        "title": "Turm",
        "long_answer": "Der Turm ist von 1873. Er ist hoch.",
        "chunked_long_answer": "Der Turm ist von 1873.",
        "short_answers": ["1873"],
    },
}
PAIRS = {"ordered_kv_records": [["a", "1"], ["b", "2"], ["c", "3"]], "key": "b", "value": "2"}


def lines(folder: Path, *rows: object, name: str = "file.jsonl.gz") -> Path:
    return data.write(folder / name, rows)


# The released files


def test_the_oracle_file(mirror: Path) -> None:
    table = nq_open.table("nq_open", "en", [str(mirror / data.ORACLE)], {})
    rows = data.read(mirror / data.ORACLE)
    assert table.schema == nq_open.RANKED_QUESTIONS
    assert table["example_id"].to_pylist() == [f"{i:05d}" for i in range(2655)]
    assert table["question"].to_pylist() == [row["question"] for row in rows]
    assert table["answers"].to_pylist() == [row["answers"] for row in rows]
    assert table["context"].to_pylist() == [row["ctxs"][0]["text"] for row in rows]
    assert set(map(tuple, table["passages"].to_pylist())) == {()}


def test_the_released_pairs(mirror: Path) -> None:
    path = mirror / data.pairs_path(75)
    table = key_value.table("key_value_75", "en", [str(path)], {})
    assert table.schema == key_value.PAIRS and table.num_rows == 500
    for made, row in zip(table.to_pylist(), data.read(path), strict=True):
        others = [pair for pair in row["ordered_kv_records"] if pair[0] != row["key"]]
        assert (made["key"], made["value"]) == (row["key"], row["value"])
        assert made["text"] == ",\n ".join(f'"{key}": "{value}"' for key, value in others)
        assert [made["text"][start : start + 37] for start in made["starts"]] == [
            f'"{key}' for key, _ in others
        ]


# Questions and passages


def test_stand_ins_are_read_as_they_were_made(mirror: Path, tmp_path: Path) -> None:
    folder = data.stand_ins(mirror, tmp_path, 12)
    oracle = nq_open.read_questions("nq_open", folder / data.ORACLE).to_pylist()
    for kind, file in (
        ("nq_open_released", data.documents_path(30, 0)),
        ("nq_open_retrieved", data.RETRIEVAL),
    ):
        questions = nq_open.table(kind, "en", [str(folder / file)], {})
        passages = nq_open.table(f"{kind}_passages", "en", [str(folder / file)], {})
        assert questions.schema == nq_open.RANKED_QUESTIONS and passages.schema == nq_open.TITLED
        ids = passages["passage_id"].to_pylist()
        assert ids == sorted(set(ids))
        texts = dict(zip(ids, passages["text"].to_pylist(), strict=True))
        assert len(set(texts.values())) == len(texts)
        for made, row, one in zip(
            questions.to_pylist(), data.read(folder / file), oracle, strict=True
        ):
            for name in ("example_id", "title", "context", "question", "answers", "answer_starts"):
                assert made[name] == one[name]
            others = [found for found in row["ctxs"] if not found.get("isgold", False)]
            assert [texts[name] for name in made["passages"]] == [
                f"(Title: {found['title']}) {found['text']}" for found in others
            ]
            assert made["has_answer"] == [found["hasanswer"] for found in others]


def test_answers_in_titles_are_seen_beside_the_releases_flag(tmp_path: Path) -> None:
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


def test_a_passage_appears_once_under_its_first_id(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("kind", "row", "problem"),
    [
        ("nq_open_released", broken(question=None), "lacks the field 'question'"),
        ("nq_open_released", broken(question=" "), "has an empty question"),
        (
            "nq_open_released",
            broken(question=5),
            "has the field 'question', which is not of type str",
        ),
        ("nq_open_released", broken(answers=None), "lacks the field 'answers'"),
        ("nq_open_released", broken(answers=[]), "has no answer"),
        ("nq_open_released", broken(answers=["a", ""]), "has no answer, or an empty one"),
        (
            "nq_open_released",
            broken(answers=["a", 1873]),
            "'answers', which is not a list of texts",
        ),
        ("nq_open_released", broken(ctxs=None), "lacks the field 'ctxs'"),
        ("nq_open_released", broken(ctxs=["x"]), "lacks the field 'isgold'"),
        ("nq_open_released", broken(ctxs=[GOLD, GOLD]), "has 2 passages with 'isgold'"),
        ("nq_open_released", broken(ctxs=[OTHER]), "has 0 passages with 'isgold'"),
        (
            "nq_open_released",
            broken(ctxs=[GOLD, without(OTHER, "title")]),
            "lacks the field 'title'",
        ),
        ("nq_open_released", broken(ctxs=[without(GOLD, "text")]), "lacks the field 'text'"),
        (
            "nq_open_released",
            broken(ctxs=[GOLD, OTHER | {"hasanswer": "no"}]),
            "has the field 'hasanswer', which is not of type bool",
        ),
        ("nq_open", ROW, "has 3 passages in 'ctxs', but is of the oracle file"),
        (
            "nq_open_retrieved",
            broken(nq_annotated_gold=None),
            "lacks the field 'nq_annotated_gold'",
        ),
        (
            "nq_open_retrieved",
            broken(nq_annotated_gold={"title": "Turm"}),
            "lacks the field 'chunked_long_answer'",
        ),
        ("nq_open", [ROW], "is not a JSON object"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, kind: str, row: object, problem: str) -> None:
    good = ROW | {"ctxs": [GOLD]} if kind == "nq_open" else ROW
    path = lines(tmp_path, good, row)
    with pytest.raises(UserError, match=rf"file\.jsonl\.gz, line 2 .*{re.escape(problem)}"):
        nq_open.read_questions(kind, path)


def test_a_torn_file_is_an_error(mirror: Path, tmp_path: Path) -> None:
    data_bytes = (mirror / data.ORACLE).read_bytes()
    torn = tmp_path / "torn.jsonl.gz"
    torn.write_bytes(data_bytes[: len(data_bytes) // 2])
    with pytest.raises(
        UserError, match=r"torn\.jsonl\.gz cannot be read after line \d+ .*delete it"
    ):
        nq_open.read_questions("nq_open", torn)
    torn.write_bytes(b"<html>")
    with pytest.raises(UserError, match=r"torn\.jsonl\.gz cannot be read after line 0"):
        nq_open.read_questions("nq_open", torn)
    torn.write_bytes(gzip.compress(b""))
    with pytest.raises(UserError, match="is empty"):
        nq_open.read_questions("nq_open", torn)
    torn.write_bytes(gzip.compress(json.dumps(ROW)[:-9].encode()))
    with pytest.raises(UserError, match="line 1 is not a JSON object"):
        nq_open.read_questions("nq_open", torn)
    with pytest.raises(UserError, match=r"none\.jsonl\.gz does not exist"):
        nq_open.read_questions("nq_open", tmp_path / "none.jsonl.gz")


def test_an_absurdly_long_line_is_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(json_lines, "MAX_LINE_BYTES", 100)
    with pytest.raises(UserError, match="line 1 is not a JSON object"):
        list(json_lines.read_lines(lines(tmp_path, {"question": "q" * 200})))


# Key-value pairs


def test_a_file_without_gzip_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps(PAIRS) + "\n")
    (row,) = key_value.read(path, 3).to_pylist()
    assert row == {
        "passage_id": "0000",
        "text": '"a": "1",\n "c": "3"',
        "starts": [0, 11],
        "key": "b",
        "value": "2",
    }


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
        key_value.read(path, 3)
    path = lines(tmp_path, without(PAIRS, "value"))
    with pytest.raises(UserError, match="line 1 lacks the field 'value'"):
        key_value.read(path, 3)


# Wikipedia


def wikipedia_file(folder: Path, *rows: str) -> Path:
    path = folder / "psgs_w100.tsv.gz"
    path.write_bytes(
        gzip.compress("".join(f"{row}\n" for row in ("id\ttext\ttitle", *rows)).encode())
    )
    return path


def test_wikipedia_s_passages_are_those_of_the_sampled_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"{i}\ttext {i}\ttitle {i}" for i in range(1, 12)]
    rows[9] = '10\t"A ""quoted"" text"\tTitle: (10)'
    path = wikipedia_file(tmp_path, *rows, "a line that is not read")
    table = wikipedia.read(path, [10, 2, 11])
    assert table.to_pylist() == [
        {
            "passage_id": "10",
            "text": '(Title: Title: (10)) A "quoted" text',
            "title": "Title: (10)",
        },
        {"passage_id": "11", "text": "(Title: title 11) text 11", "title": "title 11"},
        {"passage_id": "2", "text": "(Title: title 2) text 2", "title": "title 2"},
    ]
    monkeypatch.setattr(wikipedia, "POOL", 11)
    monkeypatch.setattr(wikipedia, "PASSAGES", 4)
    assert wikipedia.table("wikipedia", "en", [str(path)], {"seed": 1}).num_rows == 4


def test_wikipedia_s_sample_is_seeded() -> None:
    ids = wikipedia.sample_ids(1000, 50, 1)
    assert ids == sorted(set(ids)) and ids[0] >= 1 and ids[-1] <= 1000
    assert ids == wikipedia.sample_ids(1000, 50, 1) != wikipedia.sample_ids(1000, 50, 2)
    assert wikipedia.sample_ids(5, 5, 0) == [1, 2, 3, 4, 5]


def test_a_damaged_wikipedia_is_an_error(tmp_path: Path) -> None:
    path = wikipedia_file(tmp_path, "1\ta\tb", "3\ta\tb", "3\t a", "4\t \tb", '5\t"a\tb')
    for number in (2, 3, 4, 5):
        with pytest.raises(UserError, match=rf"line {number + 1}: it is not passage {number}"):
            wikipedia.read(path, [1, number])
    with pytest.raises(UserError, match=r"ends before passage 9: delete the file"):
        wikipedia.read(path, [1, 9])
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(UserError, match="cannot be read to its end"):
        wikipedia.read(path, [1, 9])
    with pytest.raises(UserError, match="does not exist"):
        wikipedia.read(tmp_path / "none.tsv.gz", [1])


# Paragraphs of other corpora


def test_paragraphs_become_passages_with_titles(mirror: Path) -> None:
    questions = extractive.read_xquad(mirror / "xquad/xquad.de.json")
    files = [str(mirror / "xquad/xquad.de.json")]
    passages = titled.table("xquad_passages", "de", files, {})
    assert passages.schema == nq_open.TITLED and passages.num_rows == 240
    ids = passages["passage_id"].to_pylist()
    assert ids == sorted(ids)
    wanted = {
        f"(Title: {row['title']}) {row['context']}"
        for row in questions.select(["title", "context"]).to_pylist()
    }
    assert set(passages["text"].to_pylist()) == wanted
    plain = titled.table("xquad_paragraphs", "de", files, {})
    assert plain.column_names == ["passage_id", "text"]
    assert plain["passage_id"].to_pylist() == ids
    assert set(plain["text"].to_pylist()) == set(questions["context"].to_pylist())
    files = [str(mirror / "mlqa/MLQA_V1.zip")]
    contexts = extractive.read_mlqa(files[0], "dev", "hi")["context"].to_pylist()
    found = titled.table("mlqa_passages", "hi", files, {"split": "dev"})
    assert found.num_rows == len(set(contexts))


# The registry


def test_every_corpus_registers_its_languages(root: Path) -> None:
    sources = load_registry(root / "resources/sources.yaml")
    parts = {file.part: file for file in sources["lost-in-the-middle"].files}
    assert set(parts) == {
        "oracle",
        "documents",
        "retrieval",
        *(f"key_value_{n}" for n in (75, 140, 300)),
    }
    assert parts["documents"].id == data.documents_path(30, 0)
    assert parts["oracle"].id == data.ORACLE and parts["retrieval"].id == data.RETRIEVAL
    assert parts["key_value_300"].id == data.pairs_path(300)
    for corpus in ("nq_open", "nq_open_released", "nq_open_retrieved_passages", "key_value_75"):
        assert languages_of(corpus) == ("en",)
    assert sources["wikipedia"].languages == ["en"]


def test_the_registered_checksums_are_those_of_the_mirror(root: Path, mirror: Path) -> None:
    from needlework.records import file_digest

    files = load_registry(root / "resources/sources.yaml")["lost-in-the-middle"].files
    there = [file for file in files if (mirror / file.id).exists()]
    assert len(there) == 2
    for file in there:
        assert (mirror / file.id).stat().st_size == file.size
        assert file_digest(mirror / file.id) == file.sha256
