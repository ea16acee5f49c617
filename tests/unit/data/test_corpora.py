"""Readers of the sources: on the real data where there is some, and on files that are wrong."""

from __future__ import annotations

import json
import tracemalloc
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

from needlework.data.corpora import extractive, mmarco, sample
from needlework.data.registry import load_registry
from needlework.errors import UserError
from needlework.records import PASSAGES, QUESTIONS

LANGUAGES = ["ar", "de", "en", "es", "hi", "vi", "zh"]
CONTEXT = "Bräu 𝄞 liegt am Fluss. Der Fluss heißt Ill."


def squad(*qas: dict, context: str = CONTEXT) -> dict:
    return {"data": [{"title": "Bräu", "paragraphs": [{"context": context, "qas": list(qas)}]}]}


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


# Real data


@pytest.fixture(scope="module")
def mlqa_dev(mirror: Path) -> dict[str, pa.Table]:
    return {
        lang: extractive.read_mlqa(mirror / "mlqa/MLQA_V1.zip", "dev", lang) for lang in LANGUAGES
    }


def test_mlqa_dev_has_the_published_counts(mlqa_dev):
    assert {lang: table.num_rows for lang, table in mlqa_dev.items()} == {
        "en": 1148,
        "de": 512,
        "es": 500,
        "ar": 517,
        "zh": 504,
        "vi": 511,
        "hi": 507,
    }


def test_mlqa_ids_are_aligned(mlqa_dev):
    english = set(ids(mlqa_dev["en"]))
    languages_of = dict.fromkeys(english, 0)
    for table in mlqa_dev.values():
        assert ids(table) == sorted(set(ids(table)))
        assert set(ids(table)) <= english
        for example in ids(table):
            languages_of[example] += 1
    assert [list(languages_of.values()).count(n) for n in (2, 3, 4)] == [65, 263, 820]


def test_mlqa_answers_stand_in_their_contexts(mlqa_dev):
    for table in mlqa_dev.values():
        assert_answers_stand_in_their_contexts(table)


def test_mlqa_without_a_test_split_says_which_there_is(mirror):
    path = mirror / "mlqa/MLQA_V1.zip"
    with pytest.raises(
        UserError, match=r"MLQA_V1\.zip has no split 'test': set `sources.mlqa.split: dev`"
    ):
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


# SQuAD's format


def test_squad_rows_are_sorted_and_count_characters(tmp_path):
    path = tmp_path / "xquad.de.json"
    path.write_text(json.dumps(squad(qa("b"), qa("a", "Fluss"))))
    assert extractive.read_xquad(path).to_pylist() == [
        {
            "example_id": "a",
            "title": "Bräu",
            "context": CONTEXT,
            "question": "Wie heißt er?",
            "answers": ["Fluss"],
            "answer_starts": [16],
        },
        {
            "example_id": "b",
            "title": "Bräu",
            "context": CONTEXT,
            "question": "Wie heißt er?",
            "answers": ["Ill"],
            "answer_starts": [39],
        },
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (squad(qa("a"), qa("q7", start=38)), r"'q7' has the answer 'Ill', which is not at 38"),
        (squad(qa("q7", start=-4)), r"'q7' has the answer 'Ill', which is not at -4"),
        (squad(qa("q7", answer="")), r"'q7' has the answer ''"),
        (squad({**qa("q7"), "answers": []}), "'q7' has no answer"),
        (squad(qa("q7"), qa("a"), qa("q7", "Fluss")), "'q7' occurs twice"),
        (squad({"id": "a"}), "not in SQuAD's JSON format"),
        (squad({**qa("a"), "id": 5}), "not in SQuAD's JSON format"),
        (squad({**qa("a"), "question": None, "id": ["a"]}), "not in SQuAD's JSON format"),
        ({"data": 1}, "not in SQuAD's JSON format"),
        ([], "not in SQuAD's JSON format"),
        ("text", "not in SQuAD's JSON format"),
    ],
)
def test_unsound_questions_are_refused(tmp_path, content, problem):
    path = tmp_path / "xquad.de.json"
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match=rf"xquad\.de\.json.*{problem}"):
        extractive.read_xquad(path)


def test_files_that_are_not_there_or_not_json(tmp_path):
    with pytest.raises(UserError, match=r"none\.json does not exist"):
        extractive.read_xquad(tmp_path / "none.json")
    (tmp_path / "page.json").write_text("<html>")
    with pytest.raises(UserError, match=r"page\.json is not in SQuAD's JSON format"):
        extractive.read_xquad(tmp_path / "page.json")


# MLQA


def test_mlqa_reads_files_with_one_language(tmp_path):
    path = tmp_path / "MLQA_V1.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for split in ("dev", "test"):
            for question in ("de", "en"):
                name = f"MLQA_V1/{split}/{split}-context-de-question-{question}.json"
                archive.writestr(name, json.dumps(squad(qa(f"{split}-{question}"))))
    assert ids(extractive.read_mlqa(path, "test", "de")) == ["test-de"]
    assert ids(extractive.read_mlqa(path, "dev", "de")) == ["dev-de"]
    with pytest.raises(
        UserError, match=r"`sources\.mlqa\.split: dev` or `sources\.mlqa\.split: test`"
    ):
        extractive.read_mlqa(path, "train", "de")
    with pytest.raises(UserError, match=r"no language 'en' in its split 'test': choose among de\."):
        extractive.read_mlqa(path, "test", "en")


def test_another_archive_is_not_mlqa(tmp_path):
    path = tmp_path / "MLQA_V1.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("README", "")
    with pytest.raises(UserError, match="is not MLQA's archive"):
        extractive.read_mlqa(path, "dev", "de")


# mMARCO


def test_a_sample_is_seeded_and_nested():
    small, large = mmarco.sample_ids(10_000, 20, 1), mmarco.sample_ids(10_000, 200, 1)
    assert small == sorted(set(small)) and len(small) == 20
    assert set(small) < set(large)
    assert large[0] >= 0 and large[-1] < 10_000
    assert small == mmarco.sample_ids(10_000, 20, 1) != mmarco.sample_ids(10_000, 20, 2)
    assert mmarco.sample_ids(7, 7, 1) == list(range(7))


def test_a_sample_is_the_same_on_every_machine():
    assert mmarco.sample_ids(8_841_823, 3, 1) == [173758, 1791172, 4223801]


def test_a_sample_larger_than_its_pool_is_refused():
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


def test_a_file_that_ends_too_early_says_what_to_set(tmp_path):
    path = collection(tmp_path / "c.tsv", b"".join(b"%d\tx\n" % i for i in range(5)))
    with pytest.raises(
        UserError,
        match=r"c\.tsv ends at passage 4 and lacks 2 of the 3 .*prefix_mb`.*pool` to 5 or less",
    ):
        mmarco.read(path, [3, 5, 900])


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"", "not a number, a tab and a passage"),
        (b"3 no tab", "not a number, a tab and a passage"),
        (b"x3\ttext", "not a number, a tab and a passage"),
        (b"-3\ttext", "not a number, a tab and a passage"),
        ("²\ttext".encode(), "not a number, a tab and a passage"),
        (b"3\t" + b"x" * (2 << 20), "not a number, a tab and a passage"),
        (b"3\t\xff\xfe", "not UTF-8"),
        (b"3\t \t ", "passage 3 is blank"),
        (b"1\tagain", "passage 1 is blank or there for the second time"),
    ],
)
def test_malformed_lines_are_named(tmp_path, line, problem):
    path = collection(tmp_path / "c.tsv", b"0\ta\n1\tb\n" + line + b"\n4\td\n")
    with pytest.raises(UserError, match=rf"c\.tsv, line 3: .*{problem}"):
        mmarco.read(path, [1, 3, 4])


def test_a_missing_collection_is_reported(tmp_path):
    with pytest.raises(UserError, match=r"none\.tsv does not exist"):
        mmarco.read(tmp_path / "none.tsv", [0])


def test_memory_is_bounded_by_the_sample(tmp_path):
    path = tmp_path / "c.tsv"
    with path.open("wb") as out:
        out.writelines(b"%d\t%s\n" % (i, b"x" * 1000) for i in range(20_000))
    tracemalloc.start()
    mmarco.read(path, [0, 19_999])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000, f"{peak:,} bytes to read two passages of {path.stat().st_size:,} bytes"


# The embedded sample


@pytest.fixture
def sample_files(tmp_path: Path) -> list[Path]:
    def item(name: str, answer: str = "Ill") -> dict:
        text = {"question": "Wie heißt er?", "context": CONTEXT, "answer": answer}
        return {"example_id": name, "title": "Bräu", "text": {"de": text, "en": text}}

    (tmp_path / "b.json").write_text(
        json.dumps(
            {
                "questions": [item("q2"), item("q1", "Fluss")],
                "passages": [{"passage_id": "p2", "text": {"de": "zwei", "en": "two"}}],
            }
        )
    )
    (tmp_path / "a.json").write_text(
        json.dumps({"passages": [{"passage_id": "p1", "text": {"de": "eins", "en": "one"}}]})
    )
    return [tmp_path / "a.json", tmp_path / "b.json"]


def test_the_sample_is_read_from_all_its_files(sample_files):
    table = sample.read_questions("de", sample_files)
    assert ids(table) == ["q1", "q2"]
    assert table.column("answer_starts").to_pylist() == [[16], [39]]
    assert_answers_stand_in_their_contexts(table)
    assert sample.read_passages("en", sample_files).to_pylist() == [
        {"passage_id": "p1", "text": "one"},
        {"passage_id": "p2", "text": "two"},
    ]


def test_an_unknown_language_of_the_sample(sample_files):
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
    archive = tmp_path / "MLQA_V1.zip"
    with zipfile.ZipFile(archive, "w") as out:
        name = "MLQA_V1/dev/dev-context-de-question-de.json"
        out.writestr(name, json.dumps(squad(qa("a"))))
    questions = tmp_path / "xquad.de.json"
    questions.write_text(json.dumps(squad(qa("b"))))
    passages = collection(tmp_path / "c.tsv", b"0\ta\n1\tb\n2\tc\n")
    of_three = {"pool": 3, "passages": 3, "seed": 0}
    assert ids(extractive.table("mlqa", "de", [str(archive)], {"split": "dev"})) == ["a"]
    assert ids(extractive.table("xquad", "de", [str(questions)], {})) == ["b"]
    assert ids(mmarco.table("mmarco", "de", [str(passages)], of_three)) == ["0", "1", "2"]
    for corpus, first in (("sample_questions", "q1"), ("sample_passages", "p1")):
        assert ids(sample.table(corpus, "de", list(map(str, sample_files)), {}))[0] == first
