"""Readers of the sources: on the real data where there is some, and on files that are wrong."""

from __future__ import annotations

import json
import tracemalloc
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from needlework.data.corpora import extractive, mmarco, sample
from needlework.data.published_files import load_registry
from needlework.errors import UserError
from needlework.given import given
from needlework.records import PASSAGES, QUESTIONS

LANGUAGES = ["ar", "de", "en", "es", "hi", "vi", "zh"]
CONTEXT = "Bräu 𝄞 liegt am Fluss. Der Fluss heißt Ill."


def squad(*qas: Any) -> dict[str, Any]:
    return {"data": [{"title": "Bräu", "paragraphs": [{"context": CONTEXT, "qas": list(qas)}]}]}


def qa(name: str, answer: str = "Ill", start: int | None = None) -> dict:
    start = CONTEXT.index(answer) if start is None else start
    answers = [{"text": answer, "answer_start": start}]
    return {"id": name, "question": "Wie heißt er?", "answers": answers}


def ids(table: pa.Table) -> list[str]:
    return table.column(0).to_pylist()


def assert_answers_stand_in_their_contexts(table: pa.Table) -> None:
    assert table.schema == QUESTIONS
    for row in table.to_pylist():
        assert row["answers"] and len(row["answers"]) == len(row["answer_starts"])
        for answer, start in zip(row["answers"], row["answer_starts"], strict=True):
            assert row["context"][start : start + len(answer)] == answer


def test_mlqa_dev_is_aligned_with_the_published_counts(mirror):
    """Counts of questions by language, and of languages by question."""
    path = mirror / "mlqa/MLQA_V1.zip"
    tables = {lang: extractive.read_mlqa(path, "dev", lang) for lang in LANGUAGES}
    published = {"ar": 517, "de": 512, "en": 1148, "es": 500, "hi": 507, "vi": 511, "zh": 504}
    assert {lang: table.num_rows for lang, table in tables.items()} == published
    for table in tables.values():
        assert ids(table) == sorted(set(ids(table)))
        assert_answers_stand_in_their_contexts(table)
    languages_of = Counter(example for table in tables.values() for example in ids(table))
    assert set(languages_of) == set(ids(tables["en"]))
    assert Counter(languages_of.values()) == {2: 65, 3: 263, 4: 820}
    with pytest.raises(UserError, match=r"MLQA_V1\.zip has no split 'test': set `sources.mlqa.spl"):
        extractive.read_mlqa(path, "test", "en")
    with pytest.raises(UserError, match=r"no language 'fr' .* choose among ar, de, en"):
        extractive.read_mlqa(path, "dev", "fr")


def test_xquad_is_fully_aligned(mirror):
    tables = [extractive.read_xquad(mirror / f"xquad/xquad.{lang}.json") for lang in LANGUAGES]
    for table in tables:
        assert table.num_rows == 1190
        assert ids(table) == ids(tables[0]) == sorted(set(ids(table)))
        assert_answers_stand_in_their_contexts(table)
    assert len(set(tables[0].column("context").to_pylist())) == 240


def test_mmarco_passages_have_the_same_ids_in_every_language(mirror, root):
    source = load_registry(root / "resources" / "sources.yaml")["mmarco"]
    pids = mmarco.sample_ids(240, 50, seed=7)
    tables = {lang: mmarco.read(mirror / source.of(lang)[0].id, pids) for lang in LANGUAGES}
    for lang, table in tables.items():
        assert table.schema == PASSAGES
        assert ids(table) == [str(pid) for pid in pids]
        lines = (mirror / source.of(lang)[0].id).read_text("utf-8").split("\n")
        assert table.column("text").to_pylist() == [lines[pid].split("\t", 1)[1] for pid in pids]
    assert len({tuple(table.column("text").to_pylist()) for table in tables.values()}) == 7


def test_squad_rows_are_sorted_and_count_characters(tmp_path):
    path = tmp_path / "xquad.de.json"
    path.write_text(json.dumps(squad(qa("b"), qa("a", "Fluss"))))
    same = {"title": "Bräu", "context": CONTEXT, "question": "Wie heißt er?"}
    assert extractive.read_xquad(path).to_pylist() == [
        {"example_id": "a", **same, "answers": ["Fluss"], "answer_starts": [16]},
        {"example_id": "b", **same, "answers": ["Ill"], "answer_starts": [39]},
    ]


NO_SQUAD = "not in SQuAD's JSON format"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (squad(qa("a"), qa("q7", start=38)), r"'q7' has the answer 'Ill', which is not at 38"),
        (squad(qa("q7", start=-4)), r"'q7' has the answer 'Ill', which is not at -4"),
        (squad(qa("q7", answer="")), r"'q7' has the answer ''"),
        (squad({**qa("q7"), "answers": []}), "'q7' has no answer"),
        (squad(qa("q7"), qa("a"), qa("q7", "Fluss")), "'q7' occurs twice"),
        *((squad(wrong), NO_SQUAD) for wrong in ({"id": "a"}, {**qa("a"), "id": 5})),
        (squad({**qa("a"), "question": None, "id": ["a"]}), NO_SQUAD),
        *((wrong, NO_SQUAD) for wrong in ({"data": 1}, [], "text")),
    ],
)
def test_unsound_questions_are_refused(tmp_path, content, problem):
    path = tmp_path / "xquad.de.json"
    with pytest.raises(UserError, match=r"xquad\.de\.json does not exist"):
        extractive.read_xquad(path)
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match=rf"xquad\.de\.json.*{problem}"):
        extractive.read_xquad(path)
    path.write_text("<html>")
    with pytest.raises(UserError, match=rf"xquad\.de\.json is {NO_SQUAD}"):
        extractive.read_xquad(path)


def archive_of(path: Path, *names: str) -> Path:
    """An archive of MLQA's with a question of each split and language, or with nothing."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("README", "")
        for name in names:
            split, lang = name.split("-")
            file = f"MLQA_V1/{split}/{split}-context-de-question-{lang}.json"
            archive.writestr(file, json.dumps(squad(qa(name))))
    return path


def test_mlqa_reads_files_with_one_language(tmp_path):
    path = archive_of(tmp_path / "MLQA_V1.zip", "dev-de", "dev-en", "test-de", "test-en")
    assert ids(extractive.read_mlqa(path, "test", "de")) == ["test-de"]
    assert ids(extractive.read_mlqa(path, "dev", "de")) == ["dev-de"]
    with pytest.raises(
        UserError, match=r"`sources\.mlqa\.split: dev` or `sources\.mlqa\.split: te"
    ):
        extractive.read_mlqa(path, "train", "de")
    with pytest.raises(UserError, match=r"no language 'en' in its split 'test': choose among de\."):
        extractive.read_mlqa(path, "test", "en")
    with pytest.raises(UserError, match="is not MLQA's archive"):
        extractive.read_mlqa(archive_of(path), "dev", "de")


def test_a_sample_is_seeded_and_nested():
    small, large = mmarco.sample_ids(10_000, 20, 1), mmarco.sample_ids(10_000, 200, 1)
    assert small == sorted(set(small)) and len(small) == 20
    assert set(small) < set(large)
    assert large[0] >= 0 and large[-1] < 10_000
    assert small == mmarco.sample_ids(10_000, 20, 1) != mmarco.sample_ids(10_000, 20, 2)
    assert mmarco.sample_ids(7, 7, 1) == list(range(7))
    # The same on every machine.
    assert mmarco.sample_ids(8_841_823, 3, 1) == [173758, 1791172, 4223801]
    with pytest.raises(UserError, match=r"raise `sources\.mmarco\.pool`"):
        mmarco.sample_ids(10, 11, 1)


def collection(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_passages_keep_their_text_verbatim(tmp_path):
    path = collection(tmp_path / "c.tsv", "0\t \ufeffa\tb \r\n10\tखीर\n2\tc".encode())
    assert mmarco.read(path, [10, 0, 2]).to_pylist() == [
        {"passage_id": "0", "text": " \ufeffa\tb "},
        {"passage_id": "2", "text": "c"},
        {"passage_id": "10", "text": "खीर"},
    ]


def test_reading_ends_with_the_last_passage_that_is_wanted(tmp_path):
    path = collection(tmp_path / "c.tsv", b"0\ta\n1\tb\nthis line would be an error\n")
    assert ids(mmarco.read(path, [1])) == ["1"]
    with pytest.raises(UserError, match="line 3"):
        mmarco.read(path, [1, 2])
    with pytest.raises(UserError, match=r"none\.tsv does not exist"):
        mmarco.read(tmp_path / "none.tsv", [0])
    collection(path, b"".join(b"%d\tx\n" % i for i in range(5)))
    short = r"c\.tsv ends at passage 4 and lacks 2 of the 3 .*prefix_mb`.*pool` to 5 or less"
    with pytest.raises(UserError, match=short):
        mmarco.read(path, [3, 5, 900])


NO_PASSAGE = "not a number, a tab and a passage"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        *((line, NO_PASSAGE) for line in (b"", b"3 no tab", b"x3\ttext", b"-3\ttext")),
        *[("²\ttext".encode(), NO_PASSAGE), (b"3\t" + b"x" * (2 << 20), NO_PASSAGE)],
        *[(b"3\t\xff\xfe", "not UTF-8"), (b"3\t \t ", "passage 3 is blank")],
        (b"1\tagain", "passage 1 is blank or there for the second time"),
    ],
)
def test_malformed_lines_are_named(tmp_path, line, problem):
    path = collection(tmp_path / "c.tsv", b"0\ta\n1\tb\n" + line + b"\n4\td\n")
    with pytest.raises(UserError, match=rf"c\.tsv, line 3: .*{problem}"):
        mmarco.read(path, [1, 3, 4])


@pytest.fixture
def sample_files(tmp_path: Path) -> list[Path]:
    def item(name: str, answer: str = "Ill") -> dict:
        text = {"question": "Wie heißt er?", "context": CONTEXT, "answer": answer}
        return {"example_id": name, "title": "Bräu", "text": {"de": text, "en": text}}

    def passage(name: str, de: str, en: str) -> dict:
        return {"passage_id": name, "text": {"de": de, "en": en}}

    asked = {
        "questions": [item("q2"), item("q1", "Fluss")],
        "passages": [passage("p2", "z", "two")],
    }
    (tmp_path / "b.json").write_text(json.dumps(asked))
    (tmp_path / "a.json").write_text(json.dumps({"passages": [passage("p1", "eins", "one")]}))
    return [tmp_path / "a.json", tmp_path / "b.json"]


def test_the_sample_is_read_from_all_its_files(sample_files):
    table = sample.read_questions("de", sample_files)
    assert ids(table) == ["q1", "q2"]
    assert table.column("answer_starts").to_pylist() == [[16], [39]]
    assert_answers_stand_in_their_contexts(table)
    passages = sample.read_passages("en", sample_files)
    assert [tuple(row.values()) for row in passages.to_pylist()] == [("p1", "one"), ("p2", "two")]
    for read in (sample.read_questions, sample.read_passages):
        with pytest.raises(UserError, match=r"no language 'fr': choose among de, en"):
            read("fr", sample_files)


def test_an_unsound_sample(sample_files):
    path = sample_files[1]
    path.write_text(path.read_text().replace('"answer": "Fluss"', '"answer": "Rhein"'))
    with pytest.raises(UserError, match="'q1' has the answer 'Rhein'"):
        sample.read_questions("de", sample_files)
    path.write_text("{")
    with pytest.raises(UserError, match=r"b\.json is not readable as JSON"):
        sample.read_passages("de", sample_files)
    path.unlink()
    with pytest.raises(UserError, match=r"b\.json is not readable as JSON"):
        sample.read_passages("de", sample_files)


# What the rule calls


def test_every_reader_has_the_same_way_in(tmp_path, sample_files):
    archive = archive_of(tmp_path / "MLQA_V1.zip", "dev-de")
    questions = tmp_path / "xquad.de.json"
    questions.write_text(json.dumps(squad(qa("b"))))
    passages = collection(tmp_path / "c.tsv", b"0\ta\n1\tb\n2\tc\n")
    of_three = given({"pool": 3, "passages": 3, "seed": 0})
    assert ids(extractive.table("mlqa", "de", [str(archive)], given({"split": "dev"}))) == [
        "dev-de"
    ]
    assert ids(extractive.table("xquad", "de", [str(questions)], {})) == ["b"]
    assert ids(mmarco.table("mmarco", "de", [str(passages)], of_three)) == ["0", "1", "2"]
    for corpus, first in (("sample_questions", "q1"), ("sample_passages", "p1")):
        assert ids(sample.table(corpus, "de", list(map(str, sample_files)), {}))[0] == first


def test_memory_is_bounded_by_the_sample(tmp_path):
    path = tmp_path / "c.tsv"
    with path.open("wb") as out:
        out.writelines(b"%d\t%s\n" % (i, b"x" * 1000) for i in range(20_000))
    tracemalloc.start()
    mmarco.read(path, [0, 19_999])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000, f"{peak:,} bytes to read two passages of {path.stat().st_size:,} bytes"
