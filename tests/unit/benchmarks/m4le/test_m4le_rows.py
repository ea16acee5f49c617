"""M4LE's rows: read from released files, or drawn from documents."""

from __future__ import annotations

import json
import random
import re
import zipfile
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from factories.m4le import FRAMES_FILE, frames, sample
from needlework.benchmarks.m4le import corpus as m4le
from needlework.benchmarks.m4le.data import rows as sample_module
from needlework.benchmarks.m4le.data.families import Recipe, construct, lower_bound, positions
from needlework.benchmarks.m4le.data.origins import ORIGINS, source_files
from needlework.benchmarks.m4le.data.rows import ROWS, Record, Row, length, read_rows
from needlework.benchmarks.m4le.data.sources import READERS
from needlework.benchmarks.m4le.data.tasks import CONSTRUCTED, SAMPLED, SLUGS, TASKS
from needlework.errors import UserError

ROW = {
    **{"instruction": "x", "input": "y", "answers": ["a"]},
    **{"input_length": 1, "total_length": 2, "length_bucket": 1000},
}


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return sample().to_pylist()


def released(folder: Path, *lines: dict[str, Any], name: str = "c3") -> list[Row]:
    path = folder / "c3.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return list(read_rows(TASKS[name], frames()[name], path, [1000]))


def archived(folder: Path, task: str, members: dict[str, str]) -> pa.Table:
    """The rows of a task of the first release, whose archive has these members."""
    path = folder / "data.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in members.items():
            archive.writestr(member, text)
    return m4le.table("m4le_2023", TASKS[task].slug, [FRAMES_FILE, path], {"lengths": [1000]})


def drawn(task: str, files: Sequence[str | Path], **settings: Any) -> pa.Table:
    own = {"lengths": [1000], "examples": 1, "seed": 0, **settings}
    slug = CONSTRUCTED[task].slug
    return m4le.table("m4le_constructed", slug, [FRAMES_FILE, *files], own)


def made(task: str, records: list[Record], bucket: int = 1000, examples: int = 3) -> list[Row]:
    return list(construct(TASKS[task], frames()[task], records, Recipe([bucket], examples, 0)))


def pieces(row: dict[str, Any], *roles: str) -> list[str]:
    return [row["text"][p["start"] : p["end"]] for p in row["pieces"] if p["role"] in roles]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"length_bucket": 1234}, "line 2 has the unknown length_bucket 1234"),
        ({"length_bucket": "1000"}, "line 2 has the field 'length_bucket', .* not of type int"),
        ({"answers": None}, "line 2 has the field 'answers', which is not of type list"),
        ({"answers": []}, "line 2 has an empty 'input' or no answer"),
        ({"input": " "}, "line 2 has an empty 'input' or no answer"),
        ({"input": 3}, "line 2 has the field 'input', which is not of type str"),
        ("instruction", "line 2 lacks the field 'instruction'"),
        ("total_length", "line 2 lacks the field 'total_length'"),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, change: dict[str, Any] | str, message: str) -> None:
    row = {**ROW, **(change if isinstance(change, dict) else {})}
    with pytest.raises(UserError, match=message):
        released(tmp_path, ROW, {key: value for key, value in row.items() if key != change})


def test_prompts_without_frame_or_gold_are_read_and_counted(tmp_path: Path, caplog) -> None:
    (row,) = released(tmp_path, ROW)
    assert [piece.role for piece in row.pieces] == ["haystack"] and row.text == "x\ny"
    assert "c3: 1 rows without the task's frame" in caplog.text
    frame = frames()["c3"]
    text = frame.example + "段落1: 一\n问题：根据段落1，什么？\n答案："
    given = {**ROW, "instruction": frame.instruction, "input": text, "gold_index": 7}
    (row,) = released(tmp_path, given)
    assert row.gold == [] and row.n_items == 1
    assert "c3: 1 rows with a gold item that is not there" in caplog.text


@pytest.mark.parametrize("labels", [[], "x", {"体育": "x"}, {"体育": [None, {}, 0.5, [1], 99]}, 3])
def test_labels_of_another_kind_are_no_gold(tmp_path: Path, labels: Any) -> None:
    name = "thucnews_semantic-multiple"
    frame = frames()[name]
    text = f"{frame.example}新闻：一\n问题：以上有多少篇新闻是关于体育的？\n回答："
    given = {**ROW, "instruction": frame.instruction, "input": text, "labels": labels}
    (row,) = released(tmp_path, given, name=name)
    assert row.gold == [] and row.text.endswith(text)


def test_the_first_release_is_read_from_its_archive(tmp_path: Path) -> None:
    members = {"data/qa/c3.jsonl": json.dumps(ROW) + "\n", "data/qa/other-c3.jsonl": "{}"}
    assert archived(tmp_path, "c3", members)["text"].to_pylist() == ["x\ny"]
    with pytest.raises(UserError, match=r"data\.zip has no members named newsqa\.jsonl") as caught:
        archived(tmp_path, "newsqa", members)
    assert "It has 'data/qa/c3.jsonl', 'data/qa/other-c3.jsonl'." in str(caught.value)
    assert "delete" not in str(caught.value)
    both = {f"data/{member}.jsonl": json.dumps(ROW) for member in ("clts", "clts+")}
    with pytest.raises(UserError, match=r"has 2 members named clts\.jsonl or clts\+\.jsonl\. It"):
        archived(tmp_path, "clts", both)
    for line, message in (("{", "is not a JSON object"), ("{}", "lacks the field 'length_bucket'")):
        wrong = {"data/qa/c3.jsonl": f"{json.dumps(ROW)}\n{line}\n"}
        with pytest.raises(UserError, match=rf"data\.zip/data/qa/c3\.jsonl, line 2 {message}"):
            archived(tmp_path, "c3", wrong)


@pytest.mark.parametrize(
    ("task", "member"),
    [
        ("clts", "clts+"),
        ("clts", "clts"),
        ("mnds-news_semantic-multiple", "mnds-news_semantic-multiple_cls+cnt"),
        ("drcd_explicit-single", "drcd_explicit-single_ret"),
    ],
)
def test_archived_files_may_have_the_scorers_names(tmp_path: Path, task: str, member: str) -> None:
    found = archived(tmp_path, task, {f"M4LE/data/{member}.jsonl": json.dumps(ROW) + "\n"})
    assert found["text"].to_pylist() == ["x\ny"]


def test_all_sources_write_one_schema(tmp_path: Path, mirror: Path) -> None:
    files = [FRAMES_FILE, mirror / "m4le/qa/c3.jsonl"]
    read = m4le.table("m4le_2024", "c3", files, {"lengths": [1000]})
    constructed = drawn("c3", [mirror / "m4le/raw_data/qa/c3/c3-m-test.json"])
    assert read.schema == constructed.schema == sample(tasks=["c3"]).schema == ROWS
    released(tmp_path, ROW)
    with pytest.raises(UserError, match="has no row of the wanted lengths"):
        m4le.table("m4le_2024", "c3", [FRAMES_FILE, tmp_path / "c3.jsonl"], {"lengths": [4000]})


def test_tasks_have_origins_readers_names_and_samples() -> None:
    assert set(sample_module.READERS) == {TASKS[name].sample for name in SAMPLED}
    tasks = [TASKS[name] for name in SAMPLED]
    for ability in {task.ability for task in TASKS.values()}:
        langs = {lang for t in tasks if t.ability == ability for lang in t.lang.split(",")}
        assert langs == {"en", "zh"}
    assert {task.task_type for task in tasks} == {task.task_type for task in TASKS.values()}
    assert [lower_bound(b) for b in (500, 1000, 2000, 3000, 128000)] == [0, 0, 1000, 2000, 64000]
    assert set(ORIGINS) == set(READERS) == {task.source for task in TASKS.values()}
    assert len(SLUGS) == len(CONSTRUCTED) == 39 + 6 * 11 + 3
    assert {task.frame for task in CONSTRUCTED.values()} == set(frames())


def test_pieces_cover_prompts_whose_needles_have_the_answers(rows) -> None:
    for row in rows:
        ends = [0, *(piece["end"] for piece in row["pieces"])]
        assert [piece["start"] for piece in row["pieces"]] == ends[:-1]
        assert ends[-1] == len(row["text"])
        unit = TASKS[row["task"]].unit
        whole = length(row["text"], unit) + max(length(a, unit) for a in row["answers"])
        assert row["length"] == whole <= row["bucket"]
    counted = [row for row in rows if TASKS[row["task"]].task_type == "CLS+CNT"]
    assert counted
    for row in counted:
        assert int(row["answers"][0][:-1]) == len(row["gold"]) == len(pieces(row, "needle"))
    listed = [row for row in rows if TASKS[row["task"]].metric == "f1"]
    assert len({row["task"] for row in listed}) == 4
    for row in listed:
        for id_ in row["answers"][0].strip(".。").replace("，", ",").split(","):
            assert sum(id_.strip() in text for text in pieces(row, "needle")) == 1
            assert row["text"].count(id_.strip()) == 1


def test_the_asked_document_moves_and_topics_come_once(rows) -> None:
    # Each place as often as any other, but for one.
    key = lambda row: (row["task"], row["bucket"])  # noqa: E731
    for (name, _), group in groupby(sorted(rows, key=key), key):
        found = [row for row in group if len(row["gold"]) == 1]
        if TASKS[name].metric == "f1" or TASKS[name].task_type == "CLS+CNT" or not found:
            continue
        places = positions(name, found[0]["n_items"])
        counts = Counter(row["gold"][0] for row in found)
        assert set(counts) <= set(places)
        assert max(counts.values()) - min(counts[place] for place in places) <= 1
    # The released scripts draw topics with replacement, and may draw the asked article again.
    names = ("wow", "drcd_explicit-single", "wikitext-103", "wiki2019zh")
    found = [row for row in rows if row["task"] in names]
    assert {row["task"] for row in found} == set(names)
    for row in found:
        candidates = [text.strip() for text in pieces(row, "needle", "distractor")]
        # Without its id, which is of this row.
        assert len({re.sub("[0-9A-F]{6}", "", text) for text in candidates}) == row["n_items"]
        # No prompt tells the topic that it asks for.
        assert row["task"] not in names[:2] or row["gold"][0] < row["n_items"] - 1


def test_the_asked_document_alone_moves_in_a_study_of_places() -> None:
    study, tasks = {"places": 3, "candidates": 6, "examples": 2}, ["c3", "wow", "nq-open", "marc"]
    alone, table = sample(tasks=tasks), sample(tasks=tasks, positions=study).to_pylist()
    rows = [row for row in table if not row["bucket"]]
    assert [row for row in table if row["bucket"]] == alone.to_pylist()
    assert Counter(row["task"] for row in rows) == {"c3": 6, "nq-open": 6, "wow": 12}
    for start in range(0, len(rows), 3):
        three = rows[start : start + 3]
        places = [0, 2, 4] if three[0]["task"] == "wow" else [0, 2, 5]
        assert [row["gold"][0] for row in three] == places
        assert len({row["answers"][0] for row in three}) == 1
        for role, n in (("needle", 1), ("distractor", 5)):
            texts = {text.strip() for row in three for text in pieces(row, role)}
            # Without what the prompt calls it.
            called = r"[0-9A-F]{6}|(段落|Document \[)\d+"
            assert len({re.sub(called, "", text) for text in texts}) == n


def test_rows_depend_on_the_seed_and_on_no_other_row(rows: list[dict[str, Any]]) -> None:
    few = {"tasks": ["c3", "wow"]}
    mine = [row for row in rows if row["task"] in few["tasks"]]
    assert sample(**few).to_pylist() == mine
    assert sample(**few, seed=1).to_pylist() != mine
    long = [row for row in mine if row["bucket"] == 1000]
    assert sample(**few, lengths=[1000]).to_pylist() == long


def test_fewer_rows_than_asked_are_said(caplog) -> None:
    assert sample(tasks=["arxiv"], examples=9).num_rows == 6
    assert "arxiv at 500: 3 of 9 rows" in caplog.text
    records = [Record(f"document {n} " * 40, f"title {n}", answers=("a",)) for n in range(30)]
    records[3:5] = [Record(" "), Record("")]
    assert len(made("cnnnews", records, examples=4)) == 4
    assert "cnnnews: 2 of 30 documents are empty and left out" in caplog.text
    # No number of documents fits: the bucket stays empty, and the run goes on.
    long = [Record("字" * 5000, label="体育") for _ in range(30)]
    assert made("thucnews_explicit-single", long) == []
    with pytest.raises(UserError, match="hold no document that can be asked about"):
        made("newsqa", [Record(" ")])


@pytest.mark.parametrize("bucket", [8000, 32_000])
def test_many_documents_of_uneven_length_fill_a_bucket(bucket: int) -> None:
    """Their mean is twice their median, from which the number of documents begins."""
    rng = random.Random(0)
    texts = [f"{n} " + "word " * int(rng.lognormvariate(3, 1.2)) for n in range(3000)]
    records = [Record(text, label=str(n % 5)) for n, text in enumerate(texts)]
    found = made("mnds-news_explicit-multiple", records, bucket)
    assert len(found) == 3
    assert all(lower_bound(bucket) < row.length <= bucket for row in found)


@pytest.mark.parametrize(
    ("name", "n", "expected"),
    [
        ("newsqa", 12, [0, 4, 9]),
        ("wow", 61, [0, *range(4, 60, 5)]),
        # The last topic is told in the prompt.
        ("wow", 5, [0]),
        ("nq-open", 199, [0, *range(4, 199, 5)]),
        ("nq-open", 200, [0, *range(9, 200, 10)]),
        ("news-commentary-en2zh", 3, [0, 2]),
        ("news-commentary-en2zh", 5, [0, 4]),
        ("drcd_semantic-single", 3, [0, 1]),
        ("drcd_semantic-single", 1, [0]),
    ],
)
def test_positions_are_the_released_ones(name: str, n: int, expected: list[int]) -> None:
    assert positions(name, n) == expected


@pytest.fixture(scope="session")
def raw(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source data sets' pieces and stand-ins in one folder, in M4LE's layout."""
    folder = tmp_path_factory.mktemp("raw_data")
    for part in ("raw_data", "standins"):
        for path in (mirror / "m4le" / part).rglob("*"):
            own = folder / path.relative_to(mirror / "m4le" / part)
            if path.is_file():
                own.parent.mkdir(parents=True, exist_ok=True)
                own.unlink(missing_ok=True)
                own.symlink_to(path)
    # The third part of LCSTS, in place of the second, which is given by application.
    posts = folder / "summarization/lcsts"
    (posts / "PART_II.txt").symlink_to((posts / "PART_III.txt").resolve())
    return folder


@pytest.mark.parametrize("name", TASKS)
def test_every_task_is_made_from_its_source(name: str, raw: Path) -> None:
    files = source_files(str(raw), TASKS[name])
    found = drawn(name, files, lengths=[1000, 2000, 4000], examples=2).to_pylist()
    for row in found:
        assert lower_bound(row["bucket"]) <= row["length"] <= row["bucket"]
        assert all(answer.strip() for answer in row["answers"])
    # The stand-ins of these have long documents only, or few.
    few = {"bigpatent_global_cls", "bigpatent_global_sum", "clts", "arxiv", "pubmed", "booksum"}
    if name not in few:
        assert {row["bucket"] for row in found} == {1000, 2000, 4000}


def test_a_source_in_another_layout_or_folder_is_refused(tmp_path: Path) -> None:
    """TriviaQA's files name pages: a name that leads out of the folder is refused."""
    path, questions = tmp_path / "c3-m-test.json", tmp_path / "qa/web-dev.json"
    path.write_text("[[1]]", encoding="utf-8")
    with pytest.raises(UserError, match=r"c3: .*c3-m-test\.json cannot be read as C3"):
        drawn("c3", [path])
    texts, summaries = tmp_path / "test.src", tmp_path / "test.tgt"
    texts.write_text("文\n文\n", encoding="utf-8")
    summaries.write_text("文\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"clts: .*test\.src.* cannot be read as CLTS"):
        drawn("clts", [texts, summaries])
    questions.parent.mkdir()
    row = {"SearchResults": [{"Filename": "../../secret"}], "Question": "?", "Answer": {}}
    questions.write_text(json.dumps({"Data": [row]}), encoding="utf-8")
    (tmp_path / "secret").write_text("text", encoding="utf-8")
    with pytest.raises(UserError, match="leads out of"):
        drawn("triviaqa", [questions])


def further_sources(folder: Path, lang: str) -> None:
    """Sources of M4LE in English and a further language, in their publishers' layouts."""
    english = [f"This is the English sentence with the number {n} ." for n in range(400)]
    other = [f"Dies ist der Satz mit der Nummer {n} auf {lang} ." for n in range(400)]

    def write(name: str, text: str) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def words(sentence: str, id_: int) -> str:
        return "".join(f'<w id="w{id_}.{i}">{w}</w>' for i, w in enumerate(sentence.split()))

    for own, sentences in (("en", english), (lang, other)):
        reviews = [
            {"stars": 1 + 4 * (n % 2), "language": own, "review_title": "T", "review_body": text}
            for n, text in enumerate(sentences)
        ]
        write(f"classification/marc/dataset_{own}_test.json", "\n".join(map(json.dumps, reviews)))
        talks = "".join(
            f"<file><head><talkid>{900 + n}</talkid><title>Talk {n} {own}</title><transcription>"
            + "".join(f'<seekvideo id="{k}">{sentences[20 * n + k]}</seekvideo>' for k in range(20))
            + "</transcription></head></file>"
            for n in range(20)
        )
        write(f"translation/tedtalk/ted_{own}-20160408.xml", f"<xml>{talks}</xml>")
        for n in range(20):
            headline = f"<HEADLINE><s>{words(f'News {n} {own}', 1)}</s></HEADLINE>"
            if own == "en":
                headline = headline.replace("<s>", "<s><chunk>").replace("</s>", "</chunk></s>")
            body = "".join(f"<s>{words(sentences[20 * n + k], k + 2)}</s>" for k in range(20))
            write(
                f"translation/News-Commentary_v16/{own}/News-Commentary/xml/{own}/n{n}.xml",
                f"<text>{headline}<P>{body}</P></text>",
            )
            spoken = enumerate(sentences[20 * (n % 15) :][:100])
            lines = "".join(f'<s id="{k + 1}">{words(said, k)}</s>' for k, said in spoken)
            write(
                f"translation/opensubtitles/OpenSubtitles/xml/{own}/2016/{n}/7.xml",
                f"<document>{lines}</document>",
            )
    first, second = sorted(("en", lang))
    for root, ids, document in (
        ("News-Commentary_v16", range(1, 22), "{0}/n{1}.xml.gz"),
        ("opensubtitles", range(1, 101), "{0}/2016/{1}/7.xml.gz"),
    ):
        groups = "".join(
            f'<linkGrp fromDoc="{document.format(first, n)}" toDoc="{document.format(second, n)}">'
            + "".join(f'<link xtargets="{id_};{id_}"/>' for id_ in ids)
            + "</linkGrp>"
            for n in range(20)
        )
        write(f"translation/{root}/{first}-{second}.xml", f"<cesAlign>{groups}</cesAlign>")


@pytest.mark.parametrize(("lang", "name"), [("de", "German"), ("fr", "French")])
def test_further_languages_come_from_the_same_sources(lang: str, name: str, tmp_path: Path) -> None:
    further_sources(tmp_path, lang)
    tasks = [task for task in CONSTRUCTED.values() if task.second == lang]
    assert len(tasks) == 7
    for task in tasks:
        table = drawn(task.name, source_files(str(tmp_path), task), examples=3)
        assert table.num_rows == 3
        for row in table.to_pylist():
            assert name in row["text"] and "{" not in row["text"]
            if task.follows == "marc":
                assert f"auf {lang}" in row["text"] and "English sentence" in row["text"]
                continue
            # The answer has the sentences of the asked document, in the other language.
            text = "".join(pieces(row, "needle")) or row["text"]
            words = ["number", "Nummer"] if task.answer_lang == lang else ["Nummer", "number"]
            numbers = re.findall(rf"{words[0]} (\d+)", text)
            assert numbers and re.findall(rf"{words[1]} (\d+)", row["answers"][0]) == numbers
