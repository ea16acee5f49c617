"""Parquet files that say what made them, are written whole or not at all, and are read or refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needlework import __version__, records
from needlework.atomic import atomic_write
from needlework.errors import UserError
from needlework.records import (
    DISTRACTORS,
    GENERATIONS,
    PASSAGES,
    QUESTIONS,
    SPAN,
    TRANSLATIONS,
    config_digest,
    file_digest,
    instance_id,
    instances_schema,
    read_names,
    read_notes,
    read_table,
    scores_schema,
    taken,
    write_table,
)

FACTORS = {"lang": "string", "depth": "double", "length": "int32", "there": "bool"}
SCHEMAS = {
    **{"passages": PASSAGES, "questions": QUESTIONS, "distractors": DISTRACTORS},
    **{"generations": GENERATIONS, "translations": TRANSLATIONS},
    **{"instances": instances_schema(FACTORS), "scores": scores_schema(FACTORS)},
}
TABLE = pa.table({"passage_id": ["1", "2"], "text": ["Turm", "塔"]}, schema=PASSAGES)


def metadata(path: Path) -> dict[str, str]:
    return {k.decode(): v.decode() for k, v in pq.read_schema(path).metadata.items()}


def values(kind: pa.DataType) -> st.SearchStrategy[Any]:
    if pa.types.is_struct(kind):
        return st.fixed_dictionaries({field.name: values(field.type) for field in kind})
    if pa.types.is_list(kind):
        return st.lists(values(kind.value_type), max_size=3) | st.none()
    if pa.types.is_integer(kind):
        most = 2 ** (kind.bit_width - 1)
        return st.integers(-most, most - 1) | st.none()
    if pa.types.is_floating(kind):
        return st.floats(width=kind.bit_width, allow_nan=False) | st.none()
    return (st.booleans() if pa.types.is_boolean(kind) else st.text()) | st.none()


@pytest.mark.parametrize("kind", SCHEMAS)
@settings(max_examples=15)
@given(data=st.data())
def test_rows_come_back_as_they_went(kind: str, data: st.DataObject) -> None:
    schema = SCHEMAS[kind]
    rows = data.draw(st.lists(values(pa.struct(list(schema))), max_size=3))
    with TemporaryDirectory() as folder:
        write_table(pa.Table.from_pylist(rows, schema=schema), Path(folder, "x.parquet"))
        back = read_table(Path(folder, "x.parquet"))
    assert back.schema.equals(schema)
    assert back.to_pylist() == rows


def test_the_columns_that_are_contracts() -> None:
    assert [field.name for field in SPAN] == ["role", "source", "start", "end", "text"]
    assert instances_schema(FACTORS).names == [
        *["instance_id", "benchmark", "task", *FACTORS],
        *["example_id", "prompt", "references", "metric", "max_new_tokens", "n_tokens"],
    ]


def test_the_metadata_say_what_the_file_was_made_from(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    Path("in/a.txt").write_text("abc")
    write_table(TABLE, "out/x.parquet", inputs=["in/a.txt"], config={"seed": 1}, notes={"n": [1]})
    found = metadata(Path("out/x.parquet"))
    assert found["needlework.version"] == __version__
    assert found["needlework.config"] == config_digest({"seed": 1})
    # The published SHA-256 of these three letters.
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert json.loads(found["needlework.inputs"]) == {"in/a.txt": digest}
    assert json.loads(found["needlework.n"]) == [1]


def test_the_digests_notice_a_change(tmp_path) -> None:
    source = tmp_path / "a.txt"
    seen = set()
    for text, config in (("a", {"k": 1}), ("b", {"k": 1}), ("a", {"k": 2}), ("a", ["k", 1])):
        source.write_text(text)
        write_table(TABLE, tmp_path / "x.parquet", inputs=[source], config=config)
        seen.add((tmp_path / "x.parquet").read_bytes())
    assert len(seen) == 4


def test_the_configuration_digest_ignores_key_order() -> None:
    one = {"a": 1, "b": {"c": [1, 2], "d": None}}
    other = {"b": {"d": None, "c": [1, 2]}, "a": 1}
    assert config_digest(one) == config_digest(other)
    assert config_digest({"a": (1, 2)}) == config_digest({"a": [1, 2]})
    for changed in ({"a": 1, "b": {"c": [2, 1], "d": None}}, {"a": 1}, {"a": "1"}, None):
        assert config_digest(changed) != config_digest(one)


def test_equal_tables_give_equal_bytes(tmp_path) -> None:
    whole = pa.concat_tables([TABLE] * 50)
    for name, table in (("x", whole), ("y", whole), ("z", whole.combine_chunks())):
        write_table(table, tmp_path / name, inputs=[__file__], config={"a": 1}, notes={"b": 2})
    assert len({(tmp_path / name).read_bytes() for name in "xyz"}) == 1


def test_no_path_of_this_machine_is_recorded(tmp_path, monkeypatch) -> None:
    """The same inputs give the same bytes wherever they lie."""
    written = []
    resource = records.ROOT / "resources/prompts/mlneedle/exact.txt"
    for work in (tmp_path / "one", tmp_path / "another"):
        (work / "in").mkdir(parents=True)
        monkeypatch.chdir(work)
        (work / "in/below.txt").write_text("x")
        inputs = [work / "in/below.txt", "in/below.txt", resource]
        write_table(TABLE, work / "out.parquet", inputs=inputs)
        written.append((work / "out.parquet").read_bytes())
        names = json.loads(metadata(work / "out.parquet")["needlework.inputs"])
        assert set(names) == {"in/below.txt", "resources/prompts/mlneedle/exact.txt"}
    assert written[0] == written[1]
    assert str(tmp_path).encode() not in written[0]
    assert str(records.ROOT).encode() not in written[0]


def test_inputs_elsewhere_are_told_apart_without_their_folders(tmp_path, monkeypatch) -> None:
    files = [tmp_path / lang / "book.txt" for lang in ("de", "en")]
    for file in files:
        file.parent.mkdir()
        file.write_text(file.parent.name)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    write_table(TABLE, "x", inputs=files)
    recorded = json.loads(metadata(Path("x"))["needlework.inputs"])
    assert recorded == {f"book.txt@{file_digest(f)[:12]}": file_digest(f) for f in files}


def test_two_writers_of_a_file_do_not_touch_each_others(tmp_path) -> None:
    with atomic_write(tmp_path / "x") as one:
        one.write_text("one")
        with atomic_write(tmp_path / "x") as two:
            two.write_text("two")
        assert (tmp_path / "x").read_text() == "two"
    with pytest.raises(KeyboardInterrupt), atomic_write(tmp_path / "x") as three:
        three.write_text("half")
        raise KeyboardInterrupt
    assert (tmp_path / "x").read_text() == "one"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_notes_come_back(tmp_path) -> None:
    notes = {"left_out": {"no_answer_left": 2}, "title": "Türme", "nothing": None}
    write_table(TABLE, tmp_path / "x", config={"a": 1}, notes=notes)
    assert read_notes(tmp_path / "x") == notes
    write_table(TABLE, tmp_path / "x")
    assert read_notes(tmp_path / "x") == {}


@pytest.mark.parametrize(
    ("where", "what"),
    [
        (pq.ParquetWriter, "write_table"),
        (pq.ParquetWriter, "add_key_value_metadata"),
        (Path, "replace"),
    ],
    ids=["at first", "halfway", "at the end"],
)
def test_a_failed_write_changes_nothing(tmp_path, monkeypatch, where, what) -> None:
    path = tmp_path / "x.parquet"
    write_table(TABLE, path)
    before = path.read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise ArithmeticError

    monkeypatch.setattr(where, what, fail)
    for target in (path, tmp_path / "new.parquet"):
        with pytest.raises(ArithmeticError):
            write_table(TABLE.slice(0, 1), target)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_a_missing_file_is_named_with_the_remedy(tmp_path) -> None:
    path = tmp_path / "en.parquet"
    for read in (read_table, read_names, read_notes):
        with pytest.raises(UserError, match=r"en\.parquet does not exist: run the rule"):
            read(path)


def test_what_is_not_parquet_is_refused(tmp_path) -> None:
    path = tmp_path / "en.parquet"
    write_table(TABLE, path)
    data = path.read_bytes()
    others = [b"PAR1", b"not Parquet at all", b"PAR1" + bytes(100) + b"PAR1"]
    for content in [*others, *(data[:size] for size in range(0, len(data), 97))]:
        path.write_bytes(content)
        for read in (read_table, read_names, read_notes):
            with pytest.raises(UserError) as raised:
                read(path)
            message = str(raised.value)
            assert str(path) in message and "corrupt; delete it and run again" in message
            assert "\n" not in message


def test_no_damage_goes_unnoticed(tmp_path) -> None:
    """Every third byte is turned over in turn. Only the footer has no checksum."""
    rows = [{"passage_id": str(i), "text": f"Der Turm {i} " * 4} for i in range(20)]
    path = tmp_path / "x.parquet"
    write_table(pa.Table.from_pylist(rows, schema=PASSAGES), path, config={"a": 1})
    data = path.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    refused, places = 0, range(0, len(data), 3)
    for i in places:
        damaged = bytearray(data)
        damaged[i] ^= 0xFF
        path.write_bytes(damaged)
        try:
            found = read_table(path).to_pylist()
        except UserError:
            refused += 1
        else:
            assert found == rows or i >= footer, f"byte {i}"
    assert refused > len(places) / 2


def test_columns_come_as_they_are_asked_for(tmp_path) -> None:
    """A folder named like a partition adds none."""
    path = tmp_path / "run=3/lang=en/x.parquet"
    write_table(TABLE, path)
    assert read_table(path).column_names == read_names(path) == ["passage_id", "text"]
    for names in (["text"], ["text", "passage_id"]):
        assert read_table(path, names).column_names == names
    # Of an older version, for instance.
    with pytest.raises(UserError, match=r"x\.parquet has no column 'y': .*another version; delete"):
        read_table(path, ["text", "y"])


def test_an_instance_id_depends_on_each_part_and_no_order() -> None:
    base = ("mlneedle", "exact", {"lang": "en", "depth": 0.5, "there": None}, "prompt")
    ids = {
        instance_id(*base),
        instance_id("other", *base[1:]),
        instance_id(base[0], "existence", *base[2:]),
        instance_id(*base[:2], {**base[2], "lang": "de"}, base[3]),
        instance_id(*base[:2], {**base[2], "depth": 0.25}, base[3]),
        instance_id(*base[:3], "prompt "),
    }
    assert len(ids) == 6 and all(len(i) == 64 for i in ids)
    backwards = dict(reversed(base[2].items()))
    assert instance_id(*base[:2], backwards, base[3]) in ids


def test_an_instance_id_is_the_same_on_every_machine() -> None:
    """A recorded value: results of different machines and years are joined by it."""
    factors = {"needle_lang": "zh", "depth": None, "length": 4096, "needle_present": False}
    assert instance_id("mlneedle", "exact", factors, "塔") == (
        "fe920dac96162ede02f266be63d3a03785b19adda5ba1aa9a34a72b3975b0657"
    )


def test_invalid_utf8_is_reported_with_the_file(tmp_path) -> None:
    bad = pa.array([b"fine", b"caf\xe9"]).cast(pa.binary()).view(pa.string())
    write_table(pa.table({"text": bad}), tmp_path / "bad.parquet")
    with pytest.raises(UserError, match=r"bad\.parquet cannot be read as Parquet .*UTF"):
        read_table(tmp_path / "bad.parquet")


SCRIPTS = str(Path(records.__file__).parents[1])


def test_leftovers_of_a_killed_job_are_removed(tmp_path) -> None:
    script = (
        "import os, sys; sys.path.append(sys.argv[1])\n"
        "from needlework.atomic import atomic_write\n"
        "with atomic_write(sys.argv[2]) as part:\n"
        "    part.write_text('half'); os.kill(os.getpid(), 9)\n"
    )
    file = tmp_path / "a.parquet"
    subprocess.run([sys.executable, "-c", script, SCRIPTS, str(file)])
    assert [path.suffix for path in tmp_path.iterdir()] == [".part"]
    # A download that can be continued, another file's, and one of a writer who is still there.
    kept = ["a.parquet.part", "a.parquet.part.json", "b.parquet.0a1b2c3d.part"]
    for name in kept:
        (tmp_path / name).write_text("")
    with atomic_write(file) as part:
        part.write_text("whole")
        with atomic_write(file) as other:
            other.write_text("of another writer")
        assert part.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*kept, "a.parquet"])


@pytest.mark.parametrize("limit", [1 << 30, 1000, 1])
def test_rows_are_taken_in_order_from_columns_of_any_size(monkeypatch, limit: int) -> None:
    monkeypatch.setattr("needlework.records.LARGE_BYTES", limit)
    texts = [None if n % 7 == 0 else "x" * (n % 50) + str(n) for n in range(300)]
    column = pa.chunked_array([texts[:10], [], texts[10:170], texts[170:]], pa.string())
    lists = pa.chunked_array([[[text, "a"] for text in texts]], pa.list_(pa.string()))
    table = pa.table({"text": column, "number": range(300), "lists": lists})
    rows = [(n * 131) % 300 for n in range(310)]
    found = taken(table, pa.array(rows, pa.uint64()))
    found.validate(full=True)
    assert found.schema == table.schema
    assert found.to_pylist() == [table.to_pylist()[row] for row in rows]


def test_a_table_needs_no_pandas_and_a_frame_gets_it() -> None:
    code = """
import sys, pyarrow as pa
from needlework import records
table = pa.table({"passage_id": ["1"], "text": [None]}, schema=records.PASSAGES)
assert "pandas" not in sys.modules
assert table.to_pandas().isna().to_numpy().tolist() == [[False, True]]
"""
    environment = {**os.environ, "PYTHONPATH": SCRIPTS}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def test_strings_and_words_have_dictionaries_and_spans_none(tmp_path) -> None:
    words, file = pa.table({"name": ["a"], "words": [["x", "y"]], "other": [["x"]]}), tmp_path / "t"
    write_table(words, file)
    group = pq.ParquetFile(file).metadata.row_group(0)
    columns = [group.column(place) for place in range(group.num_columns)]
    found = {column.path_in_schema: column.has_dictionary_page for column in columns}
    assert found == {"name": True, "words.list.element": True, "other.list.element": False}


def test_the_names_of_resources_are_the_same_inside_the_repository(tmp_path, monkeypatch):
    monkeypatch.chdir(records.ROOT)
    write_table(TABLE, tmp_path / "x", inputs=["resources/sources.yaml"])
    monkeypatch.chdir(tmp_path)
    write_table(TABLE, tmp_path / "y", inputs=[records.ROOT / "resources/sources.yaml"])
    assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()
