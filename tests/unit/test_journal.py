"""The journal: nothing that was finished is lost, whoever writes and whenever they die."""

from __future__ import annotations

import json
import multiprocessing
import os
import warnings
from pathlib import Path
from typing import Any

import pytest

from needlework.errors import UserError
from needlework.journal import Journal


def record(number: int, text: str = "") -> dict[str, object]:
    return {"key": f"k{number}", "text": text or f"answer {number}"}


def only_file(directory: Path) -> Path:
    (path,) = directory.iterdir()
    return path


def test_what_is_appended_is_loaded(tmp_path: Path) -> None:
    records = [record(1), record(2, 'line\nbreak "quoted" \u2028 日本語 \ud800'), record(3)]
    with Journal(tmp_path / "deep" / "journal") as journal:
        journal.append(records[:2])
        journal.append(iter(records[2:]))
        assert Journal(journal.directory).load() == {r["key"]: r for r in records}


def test_a_journals_file_has_the_users_permissions(tmp_path: Path) -> None:
    """As of any new file, so that a group may share a journal; nothing in it is a program."""
    with Journal(tmp_path / "journal") as journal:
        journal.append([record(1)])
        (tmp_path / "other").touch()
        mode = only_file(journal.directory).stat().st_mode
        assert mode == (tmp_path / "other").stat().st_mode


def test_a_missing_directory_is_an_empty_journal_and_stays_missing(tmp_path: Path) -> None:
    with Journal(tmp_path / "none") as journal:
        journal.append([])
        assert journal.load() == {}
    assert not journal.directory.exists()


def test_only_the_wanted_keys_are_kept(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append(map(record, range(10)))
    assert Journal(tmp_path).load({"k3", "k99"}) == {"k3": record(3)}


def test_every_cut_of_the_last_line_leaves_the_others(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append([record(1), record(2)])
    path = only_file(tmp_path)
    whole = path.read_bytes()
    second = whole.index(b"\n") + 1
    for cut in range(second, len(whole)):
        path.write_bytes(whole[:cut])
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a torn tail is no damage
            assert Journal(tmp_path).load() == {"k1": record(1)}
    path.write_bytes(whole)
    assert Journal(tmp_path).load() == {"k1": record(1), "k2": record(2)}


def test_nothing_is_glued_to_a_torn_tail(tmp_path: Path) -> None:
    with Journal(tmp_path) as killed:
        killed.append([record(1), record(2)])
    path = only_file(tmp_path)
    torn = path.read_bytes()[:-5]
    path.write_bytes(torn)
    with Journal(tmp_path) as journal:
        journal.append([record(2), record(3)])
    assert path.read_bytes() == torn
    assert Journal(tmp_path).load() == {f"k{n}": record(n) for n in (1, 2, 3)}


@pytest.mark.parametrize(
    "damage",
    [
        b"\x00" * 40,
        b'{"key": "k7", "te',
        b"\xff\xfe{}",
        b'["k7"]',
        b'{"text": "no key"}',
        b'{"key": 7}',
        b"[" * 100_000,
        b"",
    ],
)
def test_a_damaged_line_is_counted_and_the_rest_is_read(tmp_path: Path, damage: bytes) -> None:
    with Journal(tmp_path) as journal:
        journal.append([record(1), record(2)])
    path = only_file(tmp_path)
    first, second = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([first, damage, second, damage, b""]))
    with pytest.warns(UserWarning, match=r"2 unreadable line\(s\)"):
        assert Journal(tmp_path).load() == {"k1": record(1), "k2": record(2)}


def test_the_first_record_of_a_key_is_believed(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append([record(1, "first"), record(1, "second")])
    (tmp_path / "99991231T235959Z-later.jsonl").write_text(json.dumps(record(1, "third")) + "\n")
    assert Journal(tmp_path).load()["k1"]["text"] == "first"


def test_a_batch_is_on_the_disk_when_append_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes, syncs = [], []
    write, fsync = os.write, os.fsync
    monkeypatch.setattr(os, "write", lambda fd, data: writes.append(fd) or write(fd, data))
    monkeypatch.setattr(os, "fsync", lambda fd: syncs.append(fd) or fsync(fd))
    with Journal(tmp_path) as journal:
        journal.append(map(record, range(1000)))
        assert len(writes) == 1 and syncs[-1] == writes[0]
        journal.append(map(record, range(1000, 2000)))
        assert len(writes) == 2 and syncs[-1] == writes[0]


def test_a_full_disk_leaves_the_next_batch_intact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def half(fd: int, data: memoryview) -> int:
        if len(data) < 20:
            raise OSError(28, "No space left on device")
        return write(fd, data[: len(data) // 2])

    journal = Journal(tmp_path)
    journal.append([record(1)])
    monkeypatch.setattr(os, "write", half)
    with pytest.raises(UserError, match="No space left on device"):
        journal.append([record(2)])
    monkeypatch.undo()
    journal.append([record(3)])
    journal.close()
    assert Journal(tmp_path).load() == {"k1": record(1), "k3": record(3)}


def test_a_short_write_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:7]))
    with Journal(tmp_path) as journal:
        journal.append([record(1), record(2)])
    assert Journal(tmp_path).load() == {"k1": record(1), "k2": record(2)}


def write_many(directory: Path, start: int) -> None:
    with Journal(directory) as journal:
        for first in range(start, start + 2000, 8):
            journal.append(record(n, f"answer {n} " * 50) for n in range(first, first + 8))


def test_two_writers_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_many, args=(tmp_path, start)) for start in (0, 2000)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        seen = Journal(tmp_path).load()  # reading beside a writer sees whole records only
        assert all(r["text"].count("answer") == 50 for r in seen.values())
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert Journal(tmp_path).load().keys() == {f"k{n}" for n in range(4000)}
    assert len(list(tmp_path.iterdir())) == 2


# Publication


def test_what_was_published_first_counts_whoever_started_first(tmp_path: Path) -> None:
    early, late = Journal(tmp_path), Journal(tmp_path)
    with early, late:
        early.append([record(0)])
        late.append([record(1, "late")])
        assert late.settled()["k1"]["text"] == "late"
        early.append([record(1, "early")])
        for journal in (early, late, Journal(tmp_path)):
            assert journal.settled()["k1"]["text"] == "late"
            assert journal.load()["k1"]["text"] == "late"


def test_unpublished_records_follow_their_writers_start(tmp_path: Path) -> None:
    early, late = Journal(tmp_path), Journal(tmp_path)
    with early, late:
        early.append([record(0)])
        late.append([record(1, "late")])
        early.append([record(1, "early")])
    assert Journal(tmp_path).load()["k1"]["text"] == "early"
    assert Journal(tmp_path).settled()["k1"]["text"] == "early"


def test_nothing_is_published_twice(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append([record(1)])
        journal.settled()
        journal.settled({"k1"})
    Journal(tmp_path).settled()
    assert len(list((tmp_path / "published").iterdir())) == 1


def test_a_journal_that_cannot_be_written_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal(tmp_path) as journal:
        journal.append([record(1)])

    def refuse(*arguments: object, **more: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.warns(UserWarning, match="is not published"):
        assert Journal(tmp_path).settled() == {"k1": record(1)}


def write_and_settle(directory: Path, name: str) -> None:
    """Write 300 records, settling now and then; write down what the last settlement gave."""
    seen: dict[str, set[str]] = {}
    with Journal(directory) as journal:
        for first in range(0, 300, 10):
            journal.append(record(n, f"{name} {n}") for n in range(first, first + 10))
            for key, found in journal.settled().items():
                seen.setdefault(key, set()).add(str(found["text"]))
    (directory / f"{name}.seen").write_text(json.dumps({k: sorted(v) for k, v in seen.items()}))


def test_writers_at_once_agree_on_every_record(tmp_path: Path) -> None:
    """No key is ever given two answers, in any of four processes, at any time."""
    context = multiprocessing.get_context("spawn")
    names = ["a", "b", "c", "d"]
    writers = [context.Process(target=write_and_settle, args=(tmp_path, name)) for name in names]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    final = {key: [found["text"]] for key, found in Journal(tmp_path).load().items()}
    assert len(final) == 300
    for name in names:
        assert json.loads((tmp_path / f"{name}.seen").read_text()) == final


def test_news_are_what_others_have_written_since(tmp_path: Path) -> None:
    own, other = Journal(tmp_path), Journal(tmp_path)
    with own, other:
        other.append([record(1)])
        own.load()
        own.append([record(2)])
        assert list(own.news()) == []
        other.append([record(3)])
        assert list(own.news()) == [record(3)]
        assert list(own.news()) == []


# Checksums


def test_a_changed_byte_anywhere_is_noticed(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append([record(1), record(2, "six by seven is forty-two")])
    path = only_file(tmp_path)
    whole = path.read_bytes()
    start = whole.index(b"six")
    for place in range(start, start + 25):
        path.write_bytes(whole[:place] + b"#" + whole[place + 1 :])
        with pytest.warns(UserWarning, match=r"1 unreadable line\(s\)"):
            assert Journal(tmp_path).load() == {"k1": record(1)}


def test_records_without_a_checksum_are_valid(tmp_path: Path) -> None:
    lines = "".join(json.dumps(record(n)) + "\n" for n in range(3))
    (tmp_path / "20250101T000000Z-old-1-abcdef.jsonl").write_text(lines)
    assert Journal(tmp_path).load() == {f"k{n}": record(n) for n in range(3)}


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_is_no_file_is_refused_and_never_waited_for(tmp_path: Path, make: Any) -> None:
    make(tmp_path / "odd.jsonl")
    with pytest.raises(UserError, match=r"odd\.jsonl, in the journal, is not a regular file"):
        Journal(tmp_path).load()


def test_a_file_where_publications_belong_is_refused(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append([record(1)])
    (tmp_path / "published").write_text("")
    with pytest.raises(UserError, match="published, in the journal, is not a directory"):
        Journal(tmp_path).settled()


def test_what_a_killed_run_began_to_publish_is_removed(tmp_path: Path) -> None:
    (tmp_path / "published/old.part").mkdir(parents=True)
    os.utime(tmp_path / "published/old.part", (0, 0))
    (tmp_path / "published/new.part").mkdir()
    with Journal(tmp_path) as journal:
        journal.append([record(1)])
        journal.settled()
    assert sorted(p.name for p in (tmp_path / "published").iterdir()) == ["000001", "new.part"]


# What cannot be read


def as_another_user(function: Any) -> str:
    """What a function raises, called by a user without rights, in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            function()
            said = "nothing"
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
def test_an_unreadable_journal_is_one_error(tmp_path: Path, closed: str) -> None:
    folder = tmp_path / "j"
    with Journal(folder) as journal:
        journal.append([record(1)])
        journal.settled()
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.geteuid() and parent != Path("/"):
            parent.chmod(0o755)
    (folder / closed).chmod(0o700)
    said = as_another_user(lambda: Journal(folder).settled())
    assert said.startswith(f"UserError: {folder}")
    assert "Permission denied" in said and "chmod -R a+rX" in said


def test_a_loop_of_links_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "published").symlink_to("published")
    with pytest.raises(UserError, match=r"published cannot be read .*remove the link"):
        Journal(tmp_path).settled()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UserError, match=r"loop/published cannot be read .*remove the link"):
        Journal(tmp_path / "loop").settled()


def test_a_name_that_is_too_long_is_one_error(tmp_path: Path) -> None:
    for read in (Journal.settled, lambda journal: list(journal.records())):
        with pytest.raises(UserError, match="too long: take a shorter one") as raised:
            read(Journal(tmp_path / ("j" * 300)))
        assert len(str(raised.value)) < 400


def test_a_file_that_ends_in_gigabytes_is_read(tmp_path: Path, monkeypatch: Any) -> None:
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
    with pytest.warns(UserWarning, match=r"1 unreadable line\(s\)"):
        assert Journal(tmp_path).load().keys() == {"k1", "k2"}
    assert size < 1000
