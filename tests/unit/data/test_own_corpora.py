"""Data sets of users' own as corpora: local files, and a hub on loopback."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from factories import demo_run
from http_server import Hub
from needlework.data.budgets import Budget, check_records, size_of
from needlework.data.corpora.found import Found
from needlework.data.corpora.registry import languages_of, local_files, own_corpus
from needlework.data.corpora.tabular import SearchedContext
from needlework.errors import UserError
from needlework.given import given
from needlework.planning.config import validated
from needlework.planning.rule_inputs import RuleInputs
from needlework.records import PASSAGES, QUESTIONS, RECORDS

pytest.importorskip("datasets")
from needlework.data.corpora import tabular
from needlework.data.corpora.json_lines import read_lines

ROOT = Path(__file__).resolve().parents[3]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
QUESTION = {"id": "a", "q": "Who?", "text": "Ann met Bo.", "gold": {"text": ["Bo", "Ann"]}}
COLUMNS = {"id": "id", "question": "q", "context": "text", "answers": "gold.text"}


def settings(kind: str, columns: dict[str, str], **more: Any) -> dict[str, Any]:
    own = {"name": None, "revision": None, "subset": None, "split": "train", "rows": None}
    return given({"kind": kind, "columns": columns, "separator": None, **own, **more})


def lines(path: Path, *rows: dict[str, Any] | str) -> list[str]:
    """A file of rows, or of a text as it is."""
    text = "".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")
    return [str(path)]


def read(kind: str, columns: dict[str, str], files: list[str], **more: Any) -> pa.Table:
    return tabular.table("mine", "en", files, settings(kind, columns, **more))


def config(own: dict[str, Any], **benchmarks: Any) -> dict[str, Any]:
    """The default configuration with a corpus `mine` and other settings of benchmarks."""
    made = demo_run(run={"models": ["oracle"], "benchmarks": list(benchmarks)})
    for name, block in benchmarks.items():
        made["benchmarks"][name] |= block
    return made | {"corpora": {"mine": own}}


def test_questions_are_read_with_nested_answers(tmp_path: Path) -> None:
    table = read("questions", COLUMNS, lines(tmp_path / "q.jsonl", QUESTION))
    assert table.schema.equals(QUESTIONS)
    (row,) = table.to_pylist()
    assert list(row.values()) == ["a", "", "Ann met Bo.", "Who?", ["Bo", "Ann"], [8, 0]]
    # A column's name may have a dot, in a file with a byte order mark and the line ends of Windows.
    file = tmp_path / "q.csv"
    text = "gold.text,q,text,id\r\n007,Who?,Agent 007.,a\r\n"
    file.write_bytes(text.encode("utf-8-sig"))
    (row,) = read("questions", COLUMNS, [str(file)]).to_pylist()
    assert (row["answers"], row["context"]) == (["007"], "Agent 007.")
    # Dates of JSON Lines stay texts.
    for date in ("1890-01-10", "1890-01-10T05:00:00Z"):
        for given_answers in (date, [date]):
            dated = {**QUESTION, "text": f"On {date}.", "gold": {"text": given_answers}}
            (row,) = read("questions", COLUMNS, lines(tmp_path / "q.jsonl", dated)).to_pylist()
            assert row["answers"] == [date]


def found_of(table: pa.Table) -> Found:
    return Found(**json.loads(table.schema.metadata[b"needlework.found"]))


def test_rows_left_out_are_counted_by_reason(tmp_path: Path) -> None:
    wrong = {**QUESTION, "gold": {"text": ["Cy"]}}
    rows = [
        *(QUESTION, wrong | {"id": "b"}, {**QUESTION, "id": "c", "q": " "}),
        {**QUESTION, "id": "d", "gold": {"text": []}},
        {**QUESTION, "id": "e", "gold": {"text": ["Bo", "Cy"]}},
    ]
    table = read("questions", COLUMNS, lines(tmp_path / "q.jsonl", *rows))
    found = found_of(table)
    assert (table.num_rows, found.kept, found.rows) == (2, 2, 5)
    assert found.left_out == {
        "whose answers do not stand in the context": 1,
        "without question": 1,
        "without answer": 1,
    }
    said = found.said()
    assert "2 of 5 rows are used" in said and "the first is row 2: 'Cy' is not in 'Ann met" in said
    assert "the first is row 3, whose column 'q' is empty" in said
    # An answer in other words than the context's is one beside it.
    assert table.to_pylist()[1]["answers"] == ["Bo", "Cy"]
    with pytest.raises(UserError, match="no question whose answer stands in its context") as raised:
        read("questions", COLUMNS, lines(tmp_path / "n.jsonl", wrong, rows[2]))
    assert "0 of 2 rows are used" in str(raised.value) and "'Cy' is not in" in str(raised.value)


def test_only_so_many_rows_are_read_and_that_is_said(tmp_path: Path) -> None:
    files = lines(tmp_path / "p.jsonl", *({"body": f"text {n}"} for n in range(9)))
    table = read("passages", {"text": "body"}, files, rows=7)
    assert table["text"].to_pylist() == [f"text {n}" for n in range(7)]
    assert found_of(table).limited
    assert not found_of(read("passages", {"text": "body"}, files)).limited


A_ROW = '{"body": "a", "n": 1.5, "list": ["a", "b"]}\n'
ENDINGS = ("jsonl", "parquet", "csv")
WRONG_FILES: list[tuple[str, str | bytes, str, str]] = [
    (
        *("csv", "body,from\na, b,book\nc,d\n", "body"),
        r"row 1 has 3 fields, the head has 2: .*','.* in quotes",
    ),
    (
        *("csv", "body;from\nc;d\na;b;book\n", "body"),
        r"row 2 has 3 fields, the head has 2: .*';'.* in quotes",
    ),
    ("csv", 'body,from\na,b\n"c,d\ne,f\n', "body", "row 2 has a quote that none closes: close it"),
    ("csv", "body,from,body\na,b,c\n", "body", "has two columns 'body': rename one"),
    ("csv", "body\ng\u00fczel \u015fehir\n".encode("iso8859-9"), "body", "save the file in UTF-8"),
    ("jsonl", '{"body": "\u015fehir"}\n'.encode("utf-16"), "body", "save the file in UTF-8"),
    *(
        (ending, b'{"body": "a"}\n{"body": \xff' * 3, "body", "cannot be read")
        for ending in ENDINGS
    ),
    *((ending, b"", "body", r"the file \S+ is empty") for ending in ENDINGS),
    ("jsonl", f'{A_ROW}"b"\n', "body", r"p\.jsonl, line 2 is not a JSON object"),
    (
        *("jsonl", '{"body": "' + "z" * 17_000_000 + '"}\n', "body"),
        "a record of more than 16,777,216 bytes",
    ),
    ("csv", "body\n" + "z" * 17_000_000 + "\n", "body", "a record of more than 16,777,216 bytes"),
    (
        *("csv", 'body\n"' + ("z" * 999 + "\n") * 17_000 + '"\n', "body"),
        "a record of more than 16,777,216 bytes",
    ),
    ("jsonl", A_ROW, "boby", "has no column 'boby': it has body, n, list"),
    ("jsonl", A_ROW, "body.text", "has no column 'body.text'"),
    ("jsonl", A_ROW, "n", "row 1 has a float in the column 'n', which is not text"),
    ("jsonl", A_ROW, "list", "row 1 has several texts in the column 'list'"),
]


@pytest.mark.parametrize("case", WRONG_FILES, ids=[said[:30] for *_, said in WRONG_FILES])
def test_a_wrong_file_is_one_sentence(tmp_path: Path, case: tuple[str, str | bytes, str, str]):
    ending, content, column, said = case
    path = tmp_path / f"p.{ending}"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UserError, match=said) as raised:
        read("passages", {"text": column}, [str(path)])
    shown = str(raised.value)
    assert str(path) in shown if column == "body" else shown.startswith("corpora.mine.languages.en")
    assert "\n" not in shown and "HF_TOKEN" not in shown


def test_fields_part_at_commas_semicolons_or_tabs(tmp_path: Path) -> None:
    rows = [["q", "text", "gold"], ["Who?", "Ann, at 1,5; Bo\tmet.", '["Bo", "Ann"]']]
    columns = {"question": "q", "context": "text", "answers": "gold"}
    path = tmp_path / "q.csv"
    for separator in ",;\t":
        with path.open("w", newline="", encoding="utf-8-sig") as file:
            csv.writer(file, delimiter=separator).writerows(rows)
        (row,) = read("questions", columns, [str(path)]).to_pylist()
        found = (row["question"], row["context"], row["answers"])
        assert found == (*rows[1][:2], ["Bo", "Ann"])


def test_rows_of_json_lines_may_leave_keys_out(tmp_path: Path) -> None:
    whole = {"body": "a", "s": {"c": "news"}}
    columns = {"text": "body", "label": "s.c"}
    files = lines(tmp_path / "r.jsonl", '{"body": "b", "s": {}}\n\n', whole)
    assert read("records", columns, files)["label"].to_pylist() == ["", "news"]
    with pytest.raises(UserError, match=r"has no column 's\.d': it has body, s"):
        read("records", {"text": "body", "label": "s.d"}, files)
    # One list of all rows.
    files = lines(tmp_path / "l.jsonl", json.dumps([whole, {"body": "b"}], indent=1))
    assert read("records", columns, files)["label"].to_pylist() == ["news", ""]


@pytest.mark.parametrize(
    ("cell", "separator", "answers"),
    [
        *[('["Bo", "Ann"]', None, ["Bo", "Ann"]), ("[7]", None, ["7"])],
        *[("Bo|Ann", "|", ["Bo", "Ann"]), (" Bo ; Ann ", ";", ["Bo", "Ann"])],
        *[("7|seven", "|", ["7", "seven"]), ("Bo", None, ["Bo"]), ("[sic]", None, ["[sic]"])],
    ],
)
def test_a_list_stands_in_a_cell(tmp_path, cell, separator: str | None, answers) -> None:
    path = tmp_path / "q.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        context = "Ann met Bo at 7 [sic]."
        csv.writer(file).writerows([["q", "text", "gold"], ["Who?", context, cell]])
    columns = {"question": "q", "context": "text", "answers": "gold"}
    (row,) = read("questions", columns, [str(path)], separator=separator).to_pylist()
    assert row["answers"] == answers


@pytest.mark.parametrize(
    ("context", "answer", "slice_"),
    [
        ("Von J\u00f6rg gebaut.", "Jo\u0308rg", "J\u00f6rg"),
        ("Von Jo\u0308rg gebaut.", "J\u00f6rg", "Jo\u0308rg"),
        ("Am 5.\u00a0Mai 1921.", "5. Mai", "5.\u00a0Mai"),
        ("Am 5. Mai 1921.", "5.\u202f Mai", "5. Mai"),
        ("Am 5.\nMai 1921.", "5. Mai", "5.\nMai"),
        ("\ud55c\uae00", "\u1112\u1161\u11ab\uae00", "\ud55c\uae00"),
        ("\u0915\u093c\u0932\u092e", "\u0958\u0932", "\u0915\u093c\u0932"),
        ("x\ufb01ne", "fine", "\ufb01ne"),
    ],
)
def test_an_answer_in_another_writing_is_found(tmp_path, context, answer, slice_) -> None:
    row = {**QUESTION, "text": context, "gold": {"text": [answer]}}
    (read_row,) = read("questions", COLUMNS, lines(tmp_path / "q.jsonl", row)).to_pylist()
    # The context's own spelling, then the user's.
    assert read_row["answers"] == [slice_, answer]
    assert all(start == context.find(slice_) for start in read_row["answer_starts"])
    # Half a character is no answer.
    for context, half in (("Jo\u0308rg", "o"), ("\ufb01ne", "ine")):
        found = SearchedContext(context).find(half)
        assert found is None or context[slice(*found)] == half


def test_all_formats_give_the_same_passages(tmp_path: Path) -> None:
    texts = ["NA", "007", "1.50", "null", "1890-01-10", 'two\nlines, "quoted"']
    lines(tmp_path / "p.jsonl", *({"body": text} for text in texts))
    pq.write_table(pa.table({"body": texts}), tmp_path / "p.parquet")
    with (tmp_path / "p.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["body"], *([text] for text in texts)])
    for ending in ENDINGS:
        table = read("passages", {"text": "body"}, [str(tmp_path / f"p.{ending}")])
        assert table.schema.equals(PASSAGES)
        assert table["text"].to_pylist() == texts, ending
    # Empty fields behind the heads shift nothing.
    files = lines(tmp_path / "t.csv", 'body,from\n"a, b",book,\nc,book, ,\n\nd\n')
    assert read("passages", {"text": "body"}, files)["text"].to_pylist() == ["a, b", "c", "d"]


def test_contexts_of_questions_are_passages_once(tmp_path: Path) -> None:
    rows = [{**QUESTION, "id": name, "t": "T"} for name in ("b", "a")]
    rows.append({**QUESTION, "id": "c", "text": "Bo met Cy.", "gold": {"text": ["Bo"]}, "t": "U"})
    files = lines(tmp_path / "q.jsonl", *rows)
    plain = tabular.table("mine_passages", "en", files, settings("questions", COLUMNS))
    passages = [tuple(row.values()) for row in plain.to_pylist()]
    assert passages == [("a", "Ann met Bo."), ("c", "Bo met Cy.")]
    titled = settings("questions", COLUMNS | {"title": "t"})
    table = tabular.table("mine_passages", "en", files, titled)
    assert table["text"].to_pylist()[0] == "(Title: T) Ann met Bo."


def test_texts_are_a_book_and_records_what_is_mapped(tmp_path: Path) -> None:
    files = lines(tmp_path / "t.jsonl", {"body": "One. Two."}, {"body": " "}, {"body": "Three."})
    table = read("texts", {"text": "body"}, files)
    (book,) = table.to_pylist()
    assert book["text"] == "One. Two. Three." and book["sentence_starts"] == [0, 5, 10]
    assert found_of(table).left_out == {"without text": 1}
    assert "(the first is row 2)" in found_of(table).said()
    row = {"body": "A text.", "s": "Short.", "c": "news"}
    columns = {"text": "body", "answers": "s", "label": "c"}
    table = read("records", columns, lines(tmp_path / "r.jsonl", {"body": ""}, row))
    assert table.schema.equals(RECORDS) and found_of(table).left_out == {"without text": 1}
    given = {"text": "A text.", "label": "news", "answers": ["Short."]}
    assert table.to_pylist() == [{"title": "", "question": "", "parts": [], **given}]
    files = lines(tmp_path / "p.jsonl", {"k": "x", "body": "a"}, {"k": "x", "body": "b"})
    with pytest.raises(UserError, match="row 2 has the id 'x' of an earlier one"):
        read("passages", {"id": "k", "text": "body"}, files)


# The hub

SCRIPT = """
import json, sys
from needlework.data.corpora import tabular
from needlework.errors import UserError
from needlework.given import given
for settings in json.loads(sys.argv[1]):
    try:
        table = tabular.table("mine", "en", [], given(settings))
        print(json.dumps(table["text"].to_pylist()))
    except UserError as error:
        print(json.dumps(str(error)))
"""


def output(code: str, argument: str, **environment: str) -> str:
    library = {"PYTHONPATH": str(ROOT / "workflow/scripts")}
    return subprocess.run(
        [sys.executable, "-c", code, argument],
        env={**os.environ, **library, **environment},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def parquet(texts: list[str]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"body": texts}), file)
    return file.getvalue()


@pytest.mark.slow
def test_hub_data_sets_are_streamed_at_their_commit(tmp_path: Path) -> None:
    """Each in its type; what the hub lacks is one sentence, and what is private needs the token."""
    first = {
        "data/train-00000-of-00002.parquet": parquet(["one", "two"]),
        "data/train-00001-of-00002.parquet": parquet(["three"]),
    }
    test = {"data/test-00000-of-00001.parquet": parquet(["four"])}
    other = {"train.csv": b"body;n\n007;a\n"}
    dates = {"train.jsonl": b'{"body": "1890-01-10"}\n'}
    data = {COMMIT: first | test, "b" * 40: first, "f" * 40: other, "d" * 40: dates}
    files: dict[tuple[str, str], Any] = {("me/mine", commit): own for commit, own in data.items()}
    files["me/hidden", COMMIT] = {"train.csv": b"body\nsecret\n"}
    asked: list[tuple[dict[str, Any], Any]] = [
        *[({"rows": 2, "revision": "b" * 40}, ["one", "two"]), ({}, ["one", "two", "three"])],
        *[({"split": "test"}, ["four"]), ({"revision": "f" * 40}, ["007"])],
        ({"revision": "d" * 40}, ["1890-01-10"]),
        ({"name": "me/none"}, "the data set me/none cannot be read"),
        ({"revision": "e" * 40}, "doesn't exist"),
        ({"split": "valid", "revision": "f" * 40}, "Available splits: ['train']"),
        ({"subset": "small", "revision": "f" * 40}, "BuilderConfig 'small' not found"),
    ]
    hidden = {"name": "me/hidden"}
    own = {"name": "me/mine", "revision": COMMIT}
    with Hub(files, private={"me/hidden": "hf_right"}) as hub:
        for token, wanted in (
            ("", [*asked, (hidden, "HF_TOKEN")]),
            ("hf_right", [(hidden, ["secret"])]),
        ):
            chosen = [
                settings("passages", {"text": "body"}, **own | change) for change, _ in wanted
            ]
            said = output(
                SCRIPT,
                json.dumps(chosen),
                **{"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / token), "HF_TOKEN": token},
            )
            for (change, right), line in zip(wanted, said.splitlines(), strict=True):
                found = json.loads(line)
                if isinstance(right, str):
                    assert right in found and "\n" not in found, change
                else:
                    assert found == right, change
        read = [path for path in hub.asked if path.startswith("GET /datasets") and "bbbb" in path]
    assert read and not any("00001-of-00002" in path for path in read)


def hub_corpus(kind: str, columns: dict[str, str], *languages: str) -> dict[str, Any]:
    data = {"name": "me/mine", "revision": COMMIT}
    return {"kind": kind, "columns": columns, "languages": dict.fromkeys(languages, data)}


README = {"languages": {"en": {"files": ["README.md"]}}}
PASSAGES_OF_OURS = {"kind": "passages", "columns": {"text": "body"}, "languages": {}}
ASKED = hub_corpus("questions", COLUMNS, "en", "eo")
EO = {"needles": "mine", "needle_languages": ["eo"], "question_lang": "eo"}
BOOKS = hub_corpus("texts", {"text": "body"}, "en")
BOTH = {"languages": ["en", "sw"]}
TEXTS = hub_corpus("records", {"text": "body"}, "en")
M4LE = {"source": "constructed", "tasks": "all", "positions": {}}


@pytest.mark.parametrize(
    ("own", "benchmarks", "message"),
    [
        *(
            (PASSAGES_OF_OURS | change, {"mlneedle": {}}, message)
            for change, message in (
                ({"kind": "pages"}, "corpora.mine.kind is 'pages'"),
                ({"columns": {"body": "text"}}, "unknown key 'body' in corpora.mine.columns"),
                ({"columns": {"title": "t"}, **README}, "corpora.mine.columns lacks 'text'"),
                ({"languages": {}}, "corpora.mine.languages"),
                ({"languages": {"en": {}}}, "needs either `name`, a data set of the hub, or local"),
                ({"languages": {"en": {"files": ["none.csv"]}}}, "none.csv is not a file"),
                (README, "end in .md: give files of one kind"),
                ({"languages": {"en": {"name": "me/mine"}}}, "is None, which is not a commit"),
                ({"languages": {"en": {"name": "me/mine", "revision": "main"}}}, "is 'main', wh"),
                ({"languages": {"e n": {"files": ["README.md"]}}}, "is not a language's code"),
            )
        ),
        (ASKED, {"mlneedle": EO | {"haystack": "mine"}}, "benchmarks.mlneedle.haystack is 'mine'"),
        (ASKED, {"mlneedle": EO | {"needle_languages": ["sw"]}}, "has the unknown language 'sw'"),
        (BOOKS, {"oneruler": {"haystack": "mine"} | BOTH}, "mine"),
        (BOOKS, {"mlongrr": {"haystacks": ["sample_books", "mine"]} | BOTH}, "mine"),
        (TEXTS, {"m4le": M4LE | {"records": {"cnn": "mine"}}}, "records has 'cnn': the tasks are"),
        (
            TEXTS,
            {"m4le": M4LE | {"records": {"lcsts": "mine"}}},
            "which has en, but the task is in",
        ),
        (
            *(TEXTS, {"m4le": M4LE | {"records": {"cnnnews": "mine"}, "source": "sample"}}),
            "needs `source: constructed`",
        ),
        (TEXTS, {"m4le": M4LE | {"records": {"cnnnews": "other"}}}, "records.cnnnews is 'other'"),
    ],
)
def test_a_wrong_corpus_is_one_sentence(own, benchmarks, message, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(UserError) as raised:
        validated(config(own, **benchmarks))
    assert message in str(raised.value) and "\n" not in str(raised.value)


def test_a_corpus_has_a_name_of_its_own() -> None:
    made = validated(config(ASKED, mlneedle=EO))
    assert made["benchmarks"]["mlneedle"]["answer_languages"] == ["en", "eo"]
    # The registry has not learnt of it.
    with pytest.raises(UserError, match=r"benchmarks.mlneedle.needles is 'mine'"):
        validated(config(ASKED, mlneedle=EO) | {"corpora": {}})
    for name, message in (
        ("mlqa", "is already the name of a corpus"),
        ("my_passages", "do not end it with"),
        ("My", "use small letters"),
    ):
        with pytest.raises(UserError, match=message):
            validated(config(BOOKS, mlneedle={}) | {"corpora": {name: BOOKS}})


def test_a_language_changes_no_table_of_another(tmp_path: Path) -> None:
    path = lines(tmp_path / "p.jsonl", {"body": "a"})
    own = hub_corpus("passages", {"text": "body"}, "en")
    first = RuleInputs(validated(config(own, mlneedle={}))).corpora.corpus_settings("mine", "en")
    own["languages"]["sw"] = {"files": path}
    layout = RuleInputs(validated(config(own, mlneedle={})))
    assert layout.corpora.corpus_settings("mine", "en") == first
    assert layout.corpora.sources("mine", "sw") == path
    assert layout.corpora.sources("mine", "en") == []
    assert layout.corpora.corpus_reader("mine") == "data.corpora.tabular"


def test_questions_bring_the_passages_of_lost_in_the_middle() -> None:
    own = hub_corpus("questions", COLUMNS, "en")
    block = {"needles": "mine", "languages": ["en"], "tasks": ["multi_document_qa"]}
    made = validated(config(own, lost_in_the_middle=block))
    layout = RuleInputs(made)
    assert layout.retrieval.search("lost_in_the_middle", "en").haystack == "mine_passages"
    assert layout.corpora.corpus_reader("mine_passages") == "data.corpora.tabular"
    assert own_corpus("mine_passages", made["corpora"]) == made["corpora"]["mine"]
    assert languages_of("mine", made["corpora"]) == ("en",)


def test_gzipped_lines_that_unpack_without_end_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": "' + b" " * 1_000_000 + b'"}\n', 1) * 150)
    with pytest.raises(UserError, match=r"p\.jsonl\.gz unpacks to more than 134,217,728 bytes"):
        sum(1 for _ in read_lines(path))


def repeated(text: str, rows: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([text]))


@pytest.mark.parametrize(
    ("column", "said"),
    [
        # What its rows come to, one row longer than any may be, what the file declares, and nulls.
        (lambda: repeated("x" * 10_000_000, 400), "unpacks to more than.*lower `rows`"),
        (lambda: repeated("x" * (1 << 25), 2), "in row 1, more than.*lower `rows`"),
        (lambda: pa.array(["y" * 1_000_000] * 200), "would unpack to 200,"),
        (lambda: pa.array([[None] * 9_000_000], pa.list_(pa.int64())), "would unpack to"),
    ],
)
def test_a_small_parquet_file_of_much_data_is_refused(tmp_path: Path, column, said: str) -> None:
    path, data = tmp_path / "p.parquet", column()
    plain = pa.types.is_string(data.type)
    pq.write_table(pa.table({"body": data}), path, compression="zstd", use_dictionary=not plain)
    assert path.stat().st_size < 100_000
    with pytest.raises(UserError, match=rf"p\.parquet.*{said}"):
        read("passages", {"text": "body"}, [str(path)])


@pytest.mark.parametrize("ending", ENDINGS)
def test_brackets_and_marks_in_names_are_no_patterns(ending: str, tmp_path: Path) -> None:
    """A file is read by its own name, though `datasets` takes names for patterns."""
    for number, name in enumerate(("q1", "q[1]", "q?", "qx", "[a-z]x")):
        path, text = tmp_path / f"{name}.{ending}", f"Text {number}."
        if ending == "parquet":
            pq.write_table(pa.table({"t": [text]}), path)
        else:
            lines(path, {"t": text} if ending == "jsonl" else f"t\n{text}\n")

    def texts(pattern: str) -> list[str]:
        files = local_files([f"{tmp_path}/{pattern}.{ending}"])
        return read("passages", {"text": "t"}, files)["text"].to_pylist()

    assert texts("q*") == ["Text 0.", "Text 2.", "Text 1.", "Text 3."]
    assert texts("q[1]") == ["Text 1."] and texts("q?") == ["Text 2."]
    assert texts("[a-z]x") == ["Text 4."]


def test_rows_of_ordinary_files_are_within_the_budget() -> None:
    budget = Budget(["a.parquet"], 10_000_000, "corpora.mine")
    for place in range(100):
        budget.take(place, {"text": "x" * 9_000_000})
    with pytest.raises(UserError, match=r"^corpora\.mine: a\.parquet unpacks to more than 1,000,"):
        for place in range(100, 200):
            budget.take(place, {"text": "x" * 9_000_000})
    # Nested values count.
    assert size_of({"a": {"text": ["x" * 100, None]}, "b": 5}) > size_of({"a": "x" * 100})


def test_a_quoted_record_goes_on_over_lines(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes(b'a,b\n"one\ntwo ""quoted""\n",x\nlast\n')
    for most, quoted in ((24, True), (15, False)):
        monkeypatch.setattr("needlework.data.budgets.ROW_BYTES", most)
        check_records(path, "corpora.mine", quoted=quoted)
        monkeypatch.setattr("needlework.data.budgets.ROW_BYTES", most - 1)
        with pytest.raises(UserError, match=f"a record of more than {most - 1} bytes"):
            check_records(path, "corpora.mine", quoted=quoted)


THREADS = """
import sys, threading
import datasets, psutil
from needlework.data.corpora import tabular
from needlework.given import given
def native():
    return psutil.Process().num_threads() - threading.active_count()
before = native()
own = {"kind": "passages", "columns": {"text": "body"}, "separator": None, "rows": 2}
assert tabular.table("mine", "en", [sys.argv[1]], given(own)).num_rows == 2
print(native() - before)
"""


@pytest.mark.slow
def test_parquet_leaves_no_thread_that_could_abort(tmp_path: Path) -> None:
    pq.write_table(pa.table({"body": ["a"] * 100}), tmp_path / "p.parquet", row_group_size=10)
    assert output(THREADS, str(tmp_path / "p.parquet")).strip() == "0"


READ = """
import resource, sys
import datasets
from needlework.data.corpora import tabular
from needlework.errors import UserError
from needlework.given import given
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
settings = given({"kind": "passages", "columns": {"text": "body"}, "separator": ";", "rows": None})
try:
    tabular.table("mine", "en", [sys.argv[1]], settings)
except UserError:
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.slow
def test_a_small_file_of_gigabytes_takes_little_memory(tmp_path: Path) -> None:
    one = pa.table({"body": repeated("x" * 10**7, 400)})
    pq.write_table(one, tmp_path / "p.parquet", compression="zstd")
    assert int(output(READ, str(tmp_path / "p.parquet"))) < 300, "4 GB of text"
