"""Archives from elsewhere: a member is read, and what could do harm is refused."""

from __future__ import annotations

import os
import struct
import tracemalloc
import zipfile
from collections import deque
from pathlib import Path

import pytest

from needlework.data.archives import Archive
from needlework.errors import UserError


def zipped(path: Path, members: dict[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize("name", ["/etc/passwd", "../up", "a/../../up", "..\\up", "\\root"])
def test_members_that_climb_out_are_refused(tmp_path, name):
    with pytest.raises(UserError, match=r"is not unpacked because its member .*delete it"):
        Archive(zipped(tmp_path / "a.zip", {"good": b"", name: b""}))


def test_links_encrypted_and_double_members_are_refused(tmp_path):
    link = zipfile.ZipInfo("link")
    link.external_attr = 0o120777 << 16
    with pytest.raises(UserError, match="'link' is a link"):
        Archive(zipped(tmp_path / "a.zip", {link: b"/etc/passwd"}))
    path = zipped(tmp_path / "a.zip", {"a": b"1"})
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("a", b"2")
    with pytest.raises(UserError, match="two members of one name"):
        Archive(path)
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(UserError, match="encrypted"):
        Archive(path)


def test_zip_bombs_are_refused(tmp_path):
    bomb = zipped(tmp_path / "a.zip", {"zeros": bytes(10_000_000)})
    with pytest.raises(UserError, match="would unpack to 10,000,000 bytes"):
        Archive(bomb)
    large = zipped(tmp_path / "b.zip", {"noise": os.urandom(2000)})
    with pytest.raises(UserError, match="would unpack to 2,000 bytes"):
        Archive(large, max_total=1999)
    Archive(large, max_total=2000)


def test_damaged_archives_and_members_are_reported(tmp_path):
    path = tmp_path / "damaged.zip"
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with zipfile.ZipFile(path, "w", method) as archive:
            archive.writestr("a.txt", os.urandom(500) + b"y" * 5000)
        data = bytearray(path.read_bytes())
        data[45:95] = b"\xff" * 50
        path.write_bytes(data)
        with Archive(path) as archive, pytest.raises(UserError, match=r"damaged\.zip.*delete it"):
            archive.read("a.txt")
    path.write_bytes(data[:-30])
    with pytest.raises(UserError, match="cannot be read as a zip archive"):
        Archive(path)
    with pytest.raises(UserError, match="does not exist"):
        Archive(tmp_path / "none.zip")


def test_a_member_longer_than_declared_is_refused(tmp_path):
    path = zipped(tmp_path / "a.zip", {"zeros": bytes(100_000_000)})
    # The directory's and the member's own header declare 1,000 bytes.
    data = path.read_bytes().replace(struct.pack("<L", 100_000_000), struct.pack("<L", 1000))
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with Archive(path) as archive, pytest.raises(UserError, match=r"a\.zip.*delete it"):
            archive.read("zeros")
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_an_error_of_the_disk_is_no_damaged_archive(tmp_path, monkeypatch):
    def fail(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    with Archive(zipped(tmp_path / "a.zip", {"a/b.json": b"{}", "a/c.json": b"[]"})) as archive:
        assert archive.names == {"a/b.json", "a/c.json"}
        assert archive.read("a/b.json") == b"{}"
        monkeypatch.setattr(zipfile.ZipExtFile, "_read1", fail)
        with pytest.raises(OSError, match="Input/output error"):
            archive.read("a/b.json")


def test_an_unreadable_directory_of_members_is_reported(tmp_path):
    path = zipped(tmp_path / "a.zip", {"a\xe9.txt": b"1"})
    data = path.read_bytes()
    path.write_bytes(data.replace("\xe9".encode(), b"\xff\xfe"))
    with pytest.raises(UserError, match="cannot be read as a zip"):
        Archive(path)
    newer = bytearray(data)
    newer[newer.index(b"PK\x01\x02") + 6] = 99
    path.write_bytes(newer)
    with pytest.raises(UserError, match=r"cannot be read as a zip .*9\.9"):
        Archive(path)


def test_lines_of_a_member_are_read_one_by_one(tmp_path):
    text = b"x" * 20_000 + b"\n" + (b"y" * 1000 + b"\r\n") * 30_000 + b"z"
    path = zipped(tmp_path / "a.zip", {"a": text})

    tracemalloc.start()
    try:
        with Archive(path, max_ratio=2000) as archive:
            lines = archive.lines("a", 15_000)
            assert [len(next(lines)) for _ in range(3)] == [15_000, 5_001, 1002]
            assert deque(lines, maxlen=1) == deque([b"z"])
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()
