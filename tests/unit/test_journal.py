"""The journal: nothing that was finished is lost, whoever writes and whenever they die."""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import re
import warnings
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.errors import UserError
from needlework.journal import Journal


def record(number: int, text: str = "") -> dict[str, object]:
    return {"key": f"k{number}", "text": text or f"answer {number}"}


def only_file(directory: Path) -> Path:
    (path,) = directory.iterdir()
    return path


RECORDS = st.lists(
    st.fixed_dictionaries(
        {"key": st.sampled_from("abcd"), "text": st.text(st.characters())},
        optional={"value": st.none() | st.integers() | st.floats(allow_nan=False) | st.booleans()},
    ),
    max_size=5,
)


def first_of_each(records: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {record["key"]: record for record in reversed(records)}


@given(batches=st.lists(RECORDS, max_size=3), later=RECORDS, at=st.floats(0, 1))
def test_a_kill_at_any_byte_loses_only_the_torn_record(batches, later, at) -> None:
    """What was appended is read back, the first record of a key counts, and nothing is glued to a tear."""
    records = [record for batch in batches for record in batch]
    with TemporaryDirectory() as folder:
        directory = Path(folder, "deep", "journal")
        with Journal(directory) as journal:
            for batch in batches:
                journal.append(iter(batch))
        assert list(Journal(directory).records()) == records
        if not records:
            return
        path = only_file(directory)
        torn = path.read_bytes()[: round(at * path.stat().st_size)]
        path.write_bytes(torn)
        whole = records[: torn.count(b"\n")] + later
        with warnings.catch_warnings():
            # A torn tail is no damage.
            warnings.simplefilter("error")
            with Journal(directory) as journal:
                journal.append(later)
            assert path.read_bytes() == torn
            assert list(Journal(directory).records()) == whole
            found = Journal(directory).load()
            assert found == first_of_each(whole)
            wanted = {key: found[key] for key in found if key in "ac"}
            assert Journal(directory).load({"a", "c", "none"}) == wanted
            assert Journal(directory).settled() == found == Journal(directory).load()


def test_a_journals_file_names_its_writer_and_is_shared(tmp_path) -> None:
    with Journal(tmp_path / "journal") as journal:
        journal.append([record(1)])
        (tmp_path / "other").touch()
        file = only_file(journal.directory)
        assert file.stat().st_mode == (tmp_path / "other").stat().st_mode
    host = re.sub("[^A-Za-z0-9.]+", "_", platform.node())
    assert re.fullmatch(rf"\d{{8}}T[\d.]+Z-{host}-{os.getpid()}-[0-9a-f]{{8}}\.jsonl", file.name)


def test_a_missing_directory_is_an_empty_journal_and_stays_missing(tmp_path) -> None:
    with Journal(tmp_path / "none") as journal:
        journal.append([])
        assert journal.load() == {}
    assert not journal.directory.exists()


DAMAGE = [
    *[b"\x00" * 40, b'{"key": "k7", "te', b"\xff\xfe{}", b'["k7"]', b'{"text": "no key"}'],
    *[b'{"key": 7}', b"[" * 100_000, b""],
]


def test_damaged_lines_are_counted_and_the_rest_is_read(tmp_path) -> None:
    with Journal(tmp_path) as journal:
        journal.append([record(1), record(2)])
    path = only_file(tmp_path)
    first, second = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([first, *DAMAGE, second, DAMAGE[0], b""]))
    with pytest.warns(UserWarning, match=r"9 unreadable line\(s\)"):
        assert Journal(tmp_path).load() == {"k1": record(1), "k2": record(2)}


def test_a_batch_is_on_the_disk_when_append_returns(tmp_path, monkeypatch) -> None:
    writes, syncs = [], []
    write, fsync = os.write, os.fsync
    monkeypatch.setattr(os, "write", lambda fd, data: writes.append(fd) or write(fd, data))
    monkeypatch.setattr(os, "fsync", lambda fd: syncs.append(fd) or fsync(fd))
    with Journal(tmp_path) as journal:
        journal.append(map(record, range(1000)))
        assert len(writes) == 1 and syncs[-1] == writes[0]
        journal.append(map(record, range(1000, 2000)))
        assert len(writes) == 2 and syncs[-1] == writes[0]


def test_a_short_write_is_completed_and_a_full_disk_said(tmp_path, monkeypatch) -> None:
    write = os.write

    def half(fd: int, data: memoryview) -> int:
        if len(data) < 20:
            raise OSError(28, "No space left on device")
        return write(fd, data[: len(data) // 2])

    journal = Journal(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: write(fd, data[:7]))
        journal.append([record(1)])
        patch.setattr(os, "write", half)
        with pytest.raises(UserError, match="No space left on device"):
            journal.append([record(2)])
    journal.append([record(3)])
    journal.close()
    assert Journal(tmp_path).load() == {"k1": record(1), "k3": record(3)}


@pytest.mark.parametrize("published", [True, False])
def test_the_first_published_counts_else_the_first_writer_s(tmp_path, published) -> None:
    early, late = Journal(tmp_path), Journal(tmp_path)
    with early, late:
        early.append([record(0)])
        late.append([record(1, "late")])
        if published:
            assert late.settled()["k1"]["text"] == "late"
        early.append([record(1, "early")])
        for journal in (early, late, Journal(tmp_path)):
            for read in (journal.load, journal.settled):
                assert read()["k1"]["text"] == ("late" if published else "early")


def test_nothing_is_published_twice(tmp_path) -> None:
    with Journal(tmp_path) as journal:
        journal.append([record(1)])
        journal.settled()
        journal.settled({"k1"})
    Journal(tmp_path).settled()
    assert len(list((tmp_path / "published").iterdir())) == 1


def test_a_journal_that_cannot_be_written_is_read(tmp_path, monkeypatch) -> None:
    with Journal(tmp_path) as journal:
        journal.append([record(1)])

    def refuse(*arguments: object, **more: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.warns(UserWarning, match="is not published"):
        assert Journal(tmp_path).settled() == {"k1": record(1)}


def write_and_settle(directory: Path, name: str) -> None:
    """Write 300 records, settling now and then; write down what the settlements gave."""
    seen: dict[str, set[str]] = {}
    with Journal(directory) as journal:
        for first in range(0, 300, 10):
            journal.append(record(n, f"{name} {n} " * 50) for n in range(first, first + 10))
            for key, found in journal.settled().items():
                seen.setdefault(key, set()).add(str(found["text"]))
    (directory / f"{name}.seen").write_text(json.dumps({k: sorted(v) for k, v in seen.items()}))


def test_writers_at_once_agree_on_every_record(tmp_path) -> None:
    """No key is ever given two answers or half of one, in any of three processes, at any time."""
    context, names = multiprocessing.get_context("spawn"), "abc"
    writers = [context.Process(target=write_and_settle, args=(tmp_path, name)) for name in names]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    files = [path.name for path in tmp_path.glob("*.jsonl")]
    host = re.sub(r"[^A-Za-z0-9.]+", "_", platform.node())
    assert len(files) == len(names) and all(f"-{host}-" in name for name in files)
    final = {key: [found["text"]] for key, found in Journal(tmp_path).load().items()}
    assert final.keys() == {f"k{n}" for n in range(300)}
    assert all(
        text in (f"{name} {key[1:]} " * 50 for name in names) for key, (text,) in final.items()
    )
    for name in names:
        assert json.loads((tmp_path / f"{name}.seen").read_text()) == final


def test_news_are_what_others_have_written_since(tmp_path) -> None:
    own, other = Journal(tmp_path), Journal(tmp_path)
    with own, other:
        other.append([record(1)])
        own.load()
        own.append([record(2)])
        assert list(own.news()) == []
        other.append([record(3)])
        assert list(own.news()) == [record(3)]
        assert list(own.news()) == []


def test_a_changed_byte_anywhere_is_noticed(tmp_path) -> None:
    with Journal(tmp_path) as journal:
        journal.append([record(1), record(2, "six by seven is forty-two")])
    path = only_file(tmp_path)
    whole = path.read_bytes()
    start = whole.index(b"six")
    for place in range(start, start + 25):
        path.write_bytes(whole[:place] + b"#" + whole[place + 1 :])
        with pytest.warns(UserWarning, match=r"1 unreadable line\(s\)"):
            assert Journal(tmp_path).load() == {"k1": record(1)}


def test_records_without_a_checksum_are_valid(tmp_path) -> None:
    lines = "".join(json.dumps(record(n)) + "\n" for n in range(3))
    (tmp_path / "20250101T000000Z-old-1-abcdef.jsonl").write_text(lines)
    assert Journal(tmp_path).load() == {f"k{n}": record(n) for n in range(3)}


def test_what_a_killed_run_began_to_publish_is_removed(tmp_path) -> None:
    (tmp_path / "published/old.part").mkdir(parents=True)
    os.utime(tmp_path / "published/old.part", (0, 0))
    (tmp_path / "published/new.part").mkdir()
    with Journal(tmp_path) as journal:
        journal.append([record(1)])
        journal.settled()
    assert sorted(p.name for p in (tmp_path / "published").iterdir()) == ["000001", "new.part"]


# Losses

# What becomes of the bytes of twelve lines.
LOSSES = {
    "NULs to the end of the last": lambda lost: bytes(len(lost) - 1) + b"\n",
    "NULs glued to the next line": lambda lost: bytes(len(lost)),
    "other bytes glued to it": lambda lost: b"x" * len(lost),
    "the lines are gone": lambda lost: b"",
}


@pytest.mark.parametrize("published", [True, False])
@pytest.mark.parametrize("damage", LOSSES)
def test_each_record_under_a_damaged_run_is_counted(tmp_path, damage: str, published: bool) -> None:
    with Journal(tmp_path) as journal:
        journal.append(map(record, range(100)))
        if published:
            journal.settled()
    path = next(tmp_path.glob("*.jsonl"))
    lines = path.read_bytes().splitlines(keepends=True)
    lost = LOSSES[damage](b"".join(lines[20:32]))
    path.write_bytes(b"".join([*lines[:20], lost, *lines[32:]]))
    with pytest.warns(UserWarning, match=r": 12 record\(s\) are lost"):
        assert Journal(tmp_path).load().keys() == {
            f"k{n}" for n in {*range(100)} - {*range(20, 32)}
        }


def test_of_lines_without_numbers_the_loss_is_estimated(tmp_path) -> None:
    """Journals of an older version: one damaged run is not one record."""
    lines = [json.dumps(record(n)).encode() + b"\n" for n in range(100, 200)]
    lost = bytes(len(b"".join(lines[20:32])) - 1) + b"\n"
    content = b"".join([*lines[:20], lost, *lines[32:]])
    (tmp_path / "20250101T000000Z-old-1-abcdef.jsonl").write_bytes(content)
    with pytest.warns(UserWarning, match=r"1 unreadable line\(s\): about 12 record\(s\) are lost"):
        assert len(Journal(tmp_path).load()) == 88


@pytest.mark.parametrize("older", [True, False])
@pytest.mark.parametrize("left", [60, 0])
def test_a_shorter_file_is_told_until_its_work_is_redone(tmp_path, left: int, older: bool) -> None:
    with Journal(tmp_path) as journal:
        journal.append(map(record, range(100, 200)))
        journal.settled()
    path = next(tmp_path.glob("*.jsonl"))
    lengths = tmp_path / "published/000001/lengths.json"
    if older:
        lengths.write_text(json.dumps({path.name: json.loads(lengths.read_text())[path.name]}))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:left]) + lines[left][:20])
    if not left:
        path.unlink()
    told = (
        f"is shorter than was published: {'about ' * older}40 record"
        if left
        else "is missing: (about )?[0-9]+ record"
    )
    for read in (Journal.load, Journal.settled):
        reader = Journal(tmp_path)
        with pytest.warns(UserWarning, match=told):
            assert len(read(reader)) == left
        assert path.name in reader.losses
    with Journal(tmp_path) as journal:
        journal.append(map(record, range(100 + left, 200)))
    with warnings.catch_warnings(record=True):
        Journal(tmp_path).settled()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(Journal(tmp_path).settled()) == 100


def test_an_older_version_reads_what_is_published_now(tmp_path) -> None:
    """It takes all values of a publication for lengths of files."""
    with Journal(tmp_path) as journal:
        journal.append([record(1)])
        journal.settled()
    (path,) = tmp_path.glob("*.jsonl")
    published = json.loads((tmp_path / "published/000001/lengths.json").read_text())
    assert published == {path.name: path.stat().st_size, f"{path.name} lines": 1}
    assert not (tmp_path / f"{path.name} lines").exists()


def test_older_folders_are_searched_for_what_is_lacking(tmp_path) -> None:
    """In their order; nobody writes there, and their records come behind one's own."""
    for name, numbers in {"new": [1], "a": [1, 2], "b": [2, 3]}.items():
        with Journal(tmp_path / name) as other:
            other.append(record(n, name) for n in numbers)
    before = sorted(tmp_path.rglob("*"))
    older = [tmp_path / name for name in ("a", "absent", "b")]
    journal = Journal(tmp_path / "new", older)
    expected = {"k1": record(1, "new"), "k2": record(2, "a"), "k3": record(3, "b")}
    assert journal.load() == expected
    assert journal.load({"k2", "k3", "k4"}) == {key: expected[key] for key in ("k2", "k3")}
    assert journal.load({"k2"}, lambda record: record["text"] == "b") == {"k2": record(2, "b")}
    assert sorted(tmp_path.rglob("*")) == before
    assert journal.settled() == expected
    assert [r["text"] for r in journal.records()] == ["new", "a", "a", "b", "b"]
    today = datetime.now(UTC).date().isoformat()
    assert {journal.days[key] for key in expected} <= {today}
    assert len(list(tmp_path.glob("*/published"))) == 1


def test_older_folders_are_read_only_for_what_is_lacking(tmp_path) -> None:
    with Journal(tmp_path / "new") as journal:
        journal.append([record(1)])
    (tmp_path / "odd/1.jsonl").mkdir(parents=True)
    reader = Journal(tmp_path / "new", [tmp_path / "odd"])
    assert reader.settled({"k1"}) == {"k1": record(1)}
    with pytest.raises(UserError, match="is not a regular file"):
        reader.settled({"k1", "k2"})


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda j: (j / "odd.jsonl").mkdir(), r"odd\.jsonl, in the journal, is not a regular file"),
        # It is never waited for.
        (lambda j: os.mkfifo(j / "odd.jsonl"), "in the journal, is not a regular file"),
        (lambda j: (j / "published").touch(), "published, in the journal, is not a directory"),
        (lambda j: (j / "published").symlink_to("published"), "cannot be read .*remove the link"),
    ],
)
def test_what_is_no_file_or_folder_is_refused(tmp_path, make: Any, said: str) -> None:
    with Journal(tmp_path) as journal:
        journal.append([record(1)])
    make(tmp_path)
    with pytest.raises(UserError, match=said):
        Journal(tmp_path).settled()


def test_a_folder_that_cannot_be_named_is_one_error(tmp_path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for name, wanted in (("loop", "remove the link"), ("j" * 300, "too long: take a shorter one")):
        for read in (Journal.settled, lambda journal: list(journal.records())):
            with pytest.raises(UserError, match=wanted) as raised:
                read(Journal(tmp_path / name))
            assert len(str(raised.value)) < 400


def test_a_file_that_ends_in_gigabytes_is_read(tmp_path, monkeypatch) -> None:
    """As after a loss of power: memory holds no such line, whether or not it ends."""
    monkeypatch.setattr("needlework.journal.LONGEST", 1000)
    with Journal(tmp_path) as journal:
        journal.append([record(1)])
    path = only_file(tmp_path)
    size = path.stat().st_size
    os.truncate(path, 1 << 22)
    reader = Journal(tmp_path)
    assert reader.load() == {"k1": record(1)}
    with path.open("ab") as file:
        file.write(b"\n")
    with Journal(tmp_path / "other") as other:
        other.append([record(2)])
        path.write_bytes(path.read_bytes() + only_file(other.directory).read_bytes())
    with pytest.warns(UserWarning, match=r"1 unreadable line\(s\)"):
        assert [r["key"] for r in reader.news()] == ["k2"]
    with Journal(tmp_path / "third") as third:
        third.append([record(3)])
        path.write_bytes(path.read_bytes() + only_file(third.directory).read_bytes())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [r["key"] for r in reader.news()] == ["k3"], "a loss is told once"
    with pytest.warns(UserWarning, match=r"1 unreadable line\(s\)"):
        assert Journal(tmp_path).load().keys() == {"k1", "k2", "k3"}
    assert size < 1000


def as_another_user(function: Any) -> str:
    """What a function raises, called by a user without rights, in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        said = "nothing"
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            function()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() != 0, reason="only root can become another user"
)
@pytest.mark.parametrize("closed", [".", "published", "published/000001"])
def test_an_unreadable_journal_is_one_error(tmp_path, closed: str) -> None:
    folder = tmp_path / "j"
    with Journal(folder) as journal:
        journal.append([record(1)])
        journal.settled()
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.geteuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    (folder / closed).chmod(0o700)
    said = as_another_user(lambda: Journal(folder).settled())
    assert said.startswith(f"UserError: {folder}")
    assert "Permission denied" in said and "chmod -R a+rX" in said


def test_a_writer_that_ended_may_write_again(tmp_path) -> None:
    journal = Journal(tmp_path)
    for n in (1, 2):
        journal.append([record(n)])
        journal.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Journal(tmp_path).load() == {"k1": record(1), "k2": record(2)}
