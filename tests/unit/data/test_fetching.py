"""Fetching against a real server that misbehaves, real mirrors, and a disk that is really full."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote

import pytest

from http_server import Fault, FileServer
from needlework.data.corpora.registry import CORPORA, languages_of
from needlework.data.fetching import FetchRecord, fetch, record_path
from needlework.data.published_files import SourceFile, load_registry
from needlework.data.transfer import Patience
from needlework.errors import UserError

DATA = b"".join(b"%d\tpassage number %d\n" % (i, i * i) for i in range(20_000))
SHA256 = hashlib.sha256(DATA).hexdigest()
ETAG = f'"{SHA256[:16]}"'
QUICK = Patience(retries=2, timeout=2.0, backoff=0.001)
ID = "corpus/part/data.tsv"
SCRIPTS = str(Path(__file__).parents[3] / "workflow" / "scripts")


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer() as server:
        server.files[ID] = DATA
        yield server


@pytest.fixture
def source(server: FileServer) -> SourceFile:
    return SourceFile(ID, f"{server.url}/{ID}", ("en",), size=len(DATA), sha256=SHA256)


@pytest.fixture
def unknown(source: SourceFile) -> SourceFile:
    """The file without a published size and checksum."""
    return dataclasses.replace(source, sha256=None, size=None)


@pytest.fixture
def destination(tmp_path: Path) -> Path:
    return tmp_path / "sources" / ID


def the_record(destination: Path) -> FetchRecord:
    return FetchRecord(**json.loads(record_path(destination).read_text()))


def remove(destination: Path) -> None:
    destination.unlink()
    record_path(destination).unlink()


def left_behind(destination: Path) -> set[str]:
    if not destination.parent.exists():
        return set()
    return {path.name.removeprefix(destination.name) for path in destination.parent.iterdir()}


def test_a_file_arrives_whole_with_its_record(server, source, destination):
    record = fetch(source, destination, patience=QUICK)
    assert destination.read_bytes() == DATA
    assert record == the_record(destination)
    assert record == FetchRecord(
        id=ID,
        url=f"{server.url}/{ID}",
        via="origin",
        read="whole",
        bytes=len(DATA),
        sha256=source.sha256,
        published_sha256=source.sha256,
        verified="published sha256",
    )
    assert left_behind(destination) == {"", ".json"}
    # So does a prefix that is as long.
    for prefix in (len(DATA), len(DATA) + 1):
        assert fetch(source, destination, patience=QUICK, prefix=prefix) == record
    assert len(server.received) == 3
    # Sizes and ranges are those of the file only if it comes as it is.
    assert server.received[0].headers["accept-encoding"] == "identity"


def arrives(source: SourceFile, destination: Path, **arguments) -> FetchRecord:
    record = fetch(source, destination, **{"patience": QUICK, **arguments})
    assert destination.read_bytes() == DATA
    return record


def interrupted(server: FileServer, source: SourceFile, destination: Path, length: int) -> Path:
    """A part of `length` bytes, left by a fetch that gave up."""
    server.faults[ID] = [Fault(stop_after=length), Fault(status=503), Fault(status=503)]
    with pytest.raises(UserError):
        fetch(source, destination, patience=QUICK)
    assert left_behind(destination) == {".part", ".part.json"}
    server.received.clear()
    return destination.with_name(destination.name + ".part")


def kept_part(destination: Path, data: bytes, **note: object) -> Path:
    """A part with its note, as a process that was killed leaves it."""
    part = destination.with_name(destination.name + ".part")
    part.parent.mkdir(parents=True, exist_ok=True)
    part.write_bytes(data)
    part.with_name(part.name + ".json").write_text(json.dumps(note))
    return part


def test_dropped_connections_are_resumed_where_they_ended(server, source, destination):
    server.faults[ID] = [Fault(stop_after=100_000), Fault(stop_after=50_000)]
    arrives(source, destination)
    assert server.ranges() == [None, "bytes=100000-", "bytes=150000-"]
    assert server.received[1].headers["if-range"] == ETAG


UNDATED = Fault(stop_after=100_000, send_validators=False)
LAST = "Wed, 21 Oct 2015 07:28:00 GMT"


@pytest.mark.parametrize(
    ("faults", "ranges"),
    [
        ([Fault(stop_after=100_000), Fault(ignore_range=True)], [None, "bytes=100000-"]),
        # Without an ETag, the date of the last change is the validator; without either, a part is not
        # continued.
        (
            [
                dataclasses.replace(UNDATED, headers={"Last-Modified": LAST}),
                Fault(ignore_range=True, send_validators=False),
            ],
            [None, "bytes=100000-"],
        ),
        ([UNDATED], [None, None]),
        ([dataclasses.replace(UNDATED, headers={"ETag": 'W/"weak"'})], [None, None]),
        *(([Fault(status=status)] * 2, [None] * 3) for status in (408, 500)),
        # A range that was not asked for.
        ([Fault(stop_after=100_000), Fault(shift_range=7)], [None, "bytes=100000-", None]),
        # A date that has passed, and one that is none.
        (
            [Fault(status=429, headers={"Retry-After": LAST})],
            [None, None],
        ),
        ([Fault(status=429, headers={"Retry-After": "soon"})], [None, None]),
    ],
)
def test_a_download_survives_what_goes_wrong(server, source, destination, faults, ranges):
    server.faults[ID] = list(faults)
    arrives(source, destination)
    assert server.ranges() == ranges
    if LAST in str(faults[0].headers) and ranges[1]:
        assert server.received[1].headers["if-range"] == LAST


def test_a_killed_download_is_continued(server, source, destination):
    server.faults[ID] = [Fault(stop_after=500_000, stall=60)]
    code = f"""
import sys
sys.path.insert(0, {SCRIPTS!r})
from needlework.data.published_files import SourceFile
from needlework.data.fetching import fetch
fetch(SourceFile({ID!r}, {source.url!r}, ("en",)), {str(destination)!r})
"""
    part = destination.with_name(destination.name + ".part")
    download = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30
        while not (part.exists() and part.stat().st_size > 300_000):
            assert download.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        download.kill()
        download.wait()
    assert left_behind(destination) == {".part", ".part.json"}
    arrived = part.stat().st_size
    arrives(source, destination)
    assert server.ranges() == [None, f"bytes={arrived}-"]


@pytest.mark.parametrize("ignore_if_range", [False, True])
def test_a_part_of_an_older_version_is_not_continued(
    server, source, unknown, destination, ignore_if_range
):
    server.files[ID] = b"old" + DATA[3:]
    interrupted(server, source, destination, 100_000)
    server.files[ID] = DATA
    server.faults[ID] = [Fault(ignore_if_range=ignore_if_range)]
    # Without a checksum, nothing but the server's validator can tell.
    arrives(unknown, destination)


@pytest.mark.parametrize("note", [None, "{", "[]", '{"url": 1}', "another URL"])
def test_a_part_without_a_sound_note_is_not_continued(server, unknown, destination, note):
    part = kept_part(destination, b"x" * 1000, url=f"{server.url}/else", validator=ETAG, size=None)
    if note is None:
        part.with_name(part.name + ".json").unlink()
    elif note != "another URL":
        part.with_name(part.name + ".json").write_text(note)
    arrives(unknown, destination)
    assert server.ranges() == [None]


def test_a_complete_part_is_verified_without_a_download(server, source, unknown, destination):
    """As a kill just before the file got its name leaves it."""
    kept_part(destination, DATA, url=source.url, validator=ETAG, size=len(DATA))
    arrives(source, destination)
    assert server.received == []
    # Where the size was not announced, asking for the rest of a complete file is an error.
    destination.unlink()
    kept_part(destination, DATA, url=source.url, validator=ETAG, size=None)
    arrives(unknown, destination)
    assert server.ranges() == [f"bytes={len(DATA)}-", None]


def test_retry_after_is_honoured_unless_it_asks_for_hours(
    server, source, destination, caplog, monkeypatch
):
    server.faults[ID] = [Fault(status=503, headers={"Retry-After": "7"})]
    pauses: list[float] = []
    with monkeypatch.context() as patch:
        patch.setattr("needlework.data.transfer.time", SimpleNamespace(sleep=pauses.append))
        arrives(source, destination)
    assert pauses == [7] and "503" in caplog.text and "retry in 7.0 s" in caplog.text
    server.always[ID] = Fault(status=503, headers={"Retry-After": "3600"})
    remove(destination)
    assert "answers 503" in failure(source, destination)
    assert len(server.received) == 3


def failure(source: SourceFile, destination: Path, **arguments) -> str:
    """The error of a fetch, which must be one sentence and leave nothing that could be trusted."""
    with pytest.raises(UserError) as caught:
        fetch(source, destination, **{"patience": QUICK, **arguments})
    message = str(caught.value)
    assert message.startswith(f"{source.id}: ") and message.endswith(".") and "\n" not in message
    assert "" not in left_behind(destination) and ".json" not in left_behind(destination)
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
    return message


@pytest.mark.parametrize(("status", "asked"), [(503, 3), (401, 1), (404, 1)])
def test_only_what_may_pass_is_asked_for_again(server, source, destination, status, asked):
    server.always[ID] = Fault(status=status)
    message = failure(source, destination)
    assert str(status) in message and source.url in message and "`mirror:`" in message
    assert len(server.received) == asked


@pytest.mark.parametrize("algorithm", ["sha256", "md5"])
def test_wrong_bytes_are_deleted_and_reported(server, source, destination, algorithm):
    own = {"sha256": None, "md5": None, algorithm: hashlib.new(algorithm, DATA).hexdigest()}
    source = dataclasses.replace(source, **own)
    assert arrives(source, destination).verified == f"published {algorithm}"
    remove(destination)
    server.always[ID] = Fault(corrupt=True)
    message = failure(source, destination)
    assert algorithm in message and source.url in message and "`mirror:`" in message
    assert left_behind(destination) == set()


def test_a_file_without_a_checksum_is_recorded_and_reported(unknown, destination, caplog):
    record = arrives(unknown, destination)
    assert (record.verified, record.published_sha256) == ("nothing", None)
    assert record.sha256 == SHA256
    assert f"{ID} has no known checksum" in caplog.text


def test_a_file_of_another_size_than_published_is_no_file(server, source, destination):
    server.files[ID] = DATA[:-1000]
    message = failure(source, destination)
    assert f"{len(DATA) - 1000:,} bytes, not the published {len(DATA):,}" in message
    assert len(server.received) == 1
    server.files[ID] = DATA
    server.always[ID] = Fault(stop_after=1000, announce_length=False, send_validators=False)
    message = failure(source, destination)
    assert f"broke off after 1,000 of {len(DATA):,} bytes" in message


def test_one_byte_more_than_published_ends_the_download(server, source, destination, monkeypatch):
    sizes = []
    monkeypatch.setattr(
        "needlework.data.fetching._digest", lambda path, _: sizes.append(path.stat().st_size) or "0"
    )
    server.files[ID] = bytes(20_000_000)
    server.always[ID] = Fault(announce_length=False)
    assert "does not have the published size" in failure(source, destination)
    assert sizes == [len(DATA) + 1] and left_behind(destination) == set()
    # Nor does a part grow that is longer already.
    server.files[ID] = DATA
    kept_part(destination, DATA[:2000], url=source.url, validator=ETAG, size=None)
    server.always[ID] = Fault(headers={"Content-Range": f"bytes 2000-{len(DATA) - 1}/*"})
    small = dataclasses.replace(source, size=1500)
    assert "does not have the published size" in failure(small, destination)
    assert sizes[1:] == [2000]


def test_a_range_with_endless_numbers_is_reported(server, source, destination):
    for stated in ("bytes 0-1/" + "9" * 5000, "bytes " + "9" * 5000 + "-1/2"):
        server.always[ID] = Fault(status=206, headers={"Content-Range": stated})
        assert "sends another range" in failure(source, destination)


def test_an_unusable_proxy_is_named_and_not_shown(source, destination, monkeypatch):
    for value in ("http://user:pa/ssword1@proxy:8080", "socks4://user:ssword1@h:1"):
        monkeypatch.setenv("HTTP_PROXY", value)
        message = failure(source, destination)
        assert "proxy in the environment cannot be used" in message and "HTTPS_PROXY" in message
        assert "ssword1" not in message


def test_dead_silent_and_compressing_servers_are_told(server, source, unknown, destination):
    with FileServer() as gone:
        url = f"{gone.url}/{ID}"
    message = failure(dataclasses.replace(source, url=url), destination)
    assert "cannot be reached" in message and url in message and "check the network" in message
    server.always[ID] = Fault(delay=0.3)
    message = failure(source, destination, patience=Patience(0, timeout=0.1, backoff=0.001))
    assert "silent for 0.1 s" in message
    server.always[ID] = Fault(headers={"Content-Encoding": "gzip"})
    assert "compressed" in failure(unknown, destination)


def test_secrets_in_a_url_stay_out_of_everything(server, source, destination, caplog):
    caplog.set_level(logging.DEBUG)
    # The origin redirects to signed URLs, as stores of large files do.
    server.redirects["signed"] = f"{server.url}/{ID}?signature=SECRET"
    server.faults[ID] = [Fault(stop_after=1000), Fault(status=503)]
    url = f"http://user:SECRET@{server.address}/signed?token=SECRET#SECRET"
    record = fetch(dataclasses.replace(source, url=url), destination, patience=QUICK)
    assert record.url == f"{server.url}/signed"
    assert "SECRET" not in record_path(destination).read_text()
    remove(destination)
    server.always[ID] = Fault(status=404)
    assert "SECRET" not in failure(dataclasses.replace(source, url=url), destination)
    bad_port = dataclasses.replace(source, url="http://user:SECRET@host:port/file")
    assert "SECRET" not in failure(bad_port, destination)
    authorization = [request.headers.get("authorization") for request in server.received]
    assert any(authorization), "the credentials were not used either"
    del server.always[ID]
    interrupted(server, dataclasses.replace(source, url=url), destination, 1000)
    assert "SECRET" not in (destination.parent / (destination.name + ".part.json")).read_text()
    assert "SECRET" not in caplog.text


def full_lines(length: int) -> bytes:
    return DATA[: DATA[:length].rindex(b"\n") + 1]


@pytest.mark.parametrize("fault", [Fault(), Fault(ignore_range=True, stop_after=400_000)])
def test_a_prefix_ends_with_a_full_line(server, source, destination, fault, caplog):
    server.always[ID] = fault
    record = fetch(source, destination, prefix=100_003, patience=QUICK)
    expected = full_lines(100_003)
    assert destination.read_bytes() == expected
    assert (record.read, record.bytes, record.verified) == ("prefix", len(expected), "nothing")
    assert record.sha256 == hashlib.sha256(expected).hexdigest()
    assert server.ranges() == ["bytes=0-100002"]
    assert caplog.text == "", "more was read than the prefix"


def test_a_prefix_ends_with_the_last_line_that_it_holds(server, source, unknown, destination):
    length = DATA.index(b"\n", 50_000) + 1
    fetch(source, destination, prefix=length, patience=QUICK)
    assert destination.read_bytes() == DATA[:length]
    assert "raise `prefix_mb`" in failure(source, destination.with_name("b"), prefix=5)
    # A long line does not hide the end of the one before it.
    server.files[ID] = b"0\tfirst\n1\t" + b"x" * 3_000_000
    fetch(unknown, destination.with_name("c"), prefix=2_500_000, patience=QUICK)
    assert destination.with_name("c").read_bytes() == b"0\tfirst\n"


def test_a_prefix_is_resumed_or_cut_from_a_longer_part(server, source, destination):
    server.faults[ID] = [Fault(stop_after=40_000)]
    fetch(source, destination, prefix=100_000, patience=QUICK)
    assert destination.read_bytes() == full_lines(100_000)
    assert server.ranges() == ["bytes=0-99999", "bytes=40000-99999"]
    other = destination.parent.with_name("other") / destination.name
    interrupted(server, source, other, 40_000)
    record = fetch(source, other, prefix=30_000, patience=QUICK)
    assert other.read_bytes() == full_lines(30_000)
    assert record.read == "prefix"
    assert server.received == []


@pytest.fixture(params=["directory", "URL"])
def a_mirror(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[str, Callable[[str, bytes], None]]]:
    if request.param == "directory":
        root = tmp_path / "mirror"

        def put(path: str, data: bytes) -> None:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)

        yield str(root), put
    else:
        with FileServer() as mirror:
            yield (
                f"{mirror.url}/base/",
                lambda path, data: mirror.files.update({f"base/{path}": data}),
            )


def sums(data: bytes, mark: str = " ") -> bytes:
    other = "0" * 64
    digest = hashlib.sha256(data).hexdigest()
    return f"{other}  another/file\n{digest} {mark}{ID}\n".encode()


def test_a_mirror_serves_the_published_file_or_a_prefix(server, source, destination, a_mirror):
    mirror, put = a_mirror
    put("another", b"")
    message = failure(source, destination, mirror=mirror)
    assert ID in message and "mirror" in message
    put(ID, DATA)
    record = fetch(source, destination.with_name("p"), mirror=mirror, prefix=10_000, patience=QUICK)
    assert destination.with_name("p").read_bytes() == full_lines(10_000)
    assert (record.read, record.via) == ("prefix", "mirror")
    record = arrives(source, destination, mirror=mirror)
    assert (record.via, record.verified) == ("mirror", "published sha256")
    assert record.url.endswith(ID) and record.url.startswith(mirror.rstrip("/"))
    assert server.received == []


@pytest.mark.parametrize("mark", [" ", "*", " ./"])
def test_a_mirror_vouches_for_a_file_of_its_own(source, destination, a_mirror, caplog, mark):
    mirror, put = a_mirror
    put(ID, DATA[:5000])
    put("SHA256SUMS", sums(DATA[:5000], mark))
    record = fetch(source, destination, mirror=mirror, patience=QUICK)
    assert destination.read_bytes() == DATA[:5000]
    assert record.verified == "mirror's sha256"
    assert record.published_sha256 == source.sha256 != record.sha256
    assert "not the published one" in caplog.text
    put(ID, DATA)
    remove(destination)
    assert "mirror's sha256" in failure(source, destination, mirror=mirror)


@pytest.mark.parametrize("listing", [None, b"0" * 64 + b"  another/file\n"])
def test_an_unvouched_mirror_must_have_the_published_file(source, destination, a_mirror, listing):
    mirror, put = a_mirror
    put(ID, bytes([DATA[0] ^ 1]) + DATA[1:])
    if listing is not None:
        put("SHA256SUMS", listing)
    assert "published sha256" in failure(source, destination, mirror=mirror)
    put(ID, DATA[:-1])
    assert "not the published" in failure(source, destination, mirror=mirror)


def test_a_mirrors_token_reaches_its_server_alone(server, source, destination):
    record = arrives(source, destination, mirror=f"{server.url}?token=SECRET")
    paths = [f"/{name}?token=SECRET" for name in ("SHA256SUMS", ID)]
    assert [request.path for request in server.received] == paths
    assert "SECRET" not in str(record)
    with pytest.raises(UserError, match="correct it"):
        fetch(source, destination, mirror="http://[broken", patience=QUICK)


def test_a_list_of_checksums_without_an_end_is_refused(server, tmp_path):
    server.files["SHA256SUMS"] = bytes(20_000_000)
    server.files["a/b.tsv"] = b"1"
    file = SourceFile("a/b.tsv", f"{server.url}/a/b.tsv", ("en",))
    with pytest.raises(UserError, match="list of checksums is longer than"):
        fetch(file, tmp_path / "b.tsv", mirror=server.url, patience=QUICK)


def test_a_disk_without_room_is_noticed_before_the_download(server, source, destination):
    destination.parent.mkdir(parents=True)
    size = 10**15
    server.always[ID] = Fault(headers={"Content-Length": str(size)}, announce_length=False)
    message = failure(dataclasses.replace(source, size=size), destination)
    assert "is full" in message and "MB" in message and source.url in message
    free = os.statvfs(destination.parent)
    missing = (size - free.f_bavail * free.f_frsize) // 1_000_000
    stated = int(message.split("at least ")[1].split(" MB")[0])
    assert abs(stated - missing) < 10_000


def test_a_full_disk_is_reported_and_the_download_resumes(server, source, destination):
    """By a limit on the size of files, which any user can set."""
    # Without a length, the size of what is to come is not known beforehand.
    server.always[ID] = Fault(announce_length=False)
    code = f"""
import resource, sys
sys.path.insert(0, {SCRIPTS!r})
from needlework.errors import UserError
from needlework.data.published_files import SourceFile
from needlework.data.fetching import fetch
resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
try:
    fetch(SourceFile({ID!r}, {source.url!r}, ("en",)), {str(destination)!r})
except UserError as error:
    print(error)
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert f"the disk of {destination.parent} is full" in result.stdout
    assert "free at least" in result.stdout and source.url in result.stdout
    assert left_behind(destination) == {".part", ".part.json"}
    arrives(source, destination)
    assert server.ranges() == [None, "bytes=65536-"]


def test_the_real_mirror_serves_every_file_that_it_has(root, mirror, tmp_path, caplog):
    registry = load_registry(root / "resources" / "sources.yaml")
    verified = {}
    for file in (file for source in registry.values() for file in source.files):
        if (mirror / file.id).exists():
            record = fetch(file, tmp_path / file.id, mirror=str(mirror), prefix=100_000_000)
            assert (record.read, record.via) == ("whole", "mirror")
            verified.setdefault(record.verified, []).append(file.id)
    sources = Counter(name.partition("/")[0] for name in verified["published sha256"])
    assert sources == {"xquad": 7, "lost-in-the-middle": 2, "oneruler": 104, "mlongrr": 12}
    # MLQA is rebuilt, and the collections stand in for mMARCO's, the rows for M4LE's.
    own = Counter(name.partition("/")[0] for name in verified["mirror's sha256"])
    assert own == {"mlqa": 1, "mmarco": 7, "m4le": 39}
    assert "mlqa/MLQA_V1.zip: the mirror's file is not the published one" in caplog.text


def test_the_registry_names_every_file_and_how_it_is_verified(root):
    registry = load_registry(root / "resources" / "sources.yaml")
    assert {name: len(source.files) for name, source in registry.items()} == {
        **{"mlqa": 1, "xquad": 12, "mmarco": 14, "lost-in-the-middle": 6, "wikipedia": 1},
        **{"oneruler": 104, "mlongrr": 12, "paul-graham-essays": 49},
        # A file a task, and the first release's archive.
        "m4le": 40,
    }
    files = [file for source in registry.values() for file in source.files]
    assert len({file.id for file in files}) == len({file.url for file in files}) == len(files)
    for file in files:
        assert file.url.startswith("https://") and unquote(file.url).endswith(Path(file.id).name)
        assert file.sha256 is None or (len(file.sha256) == 64 and int(file.sha256, 16))
        assert file.md5 is None or (len(file.md5) == 32 and int(file.md5, 16))
    for source in registry.values():
        assert source.revision and source.licence and source.citation and source.homepage
        assert source.revision == "V1" or any(source.revision in file.url for file in source.files)


def test_the_registry_has_the_languages_that_the_configuration_accepts(root):
    registry = load_registry(root / "resources" / "sources.yaml")
    for name, corpus in CORPORA.items():
        if corpus.source is not None and (corpus.part or not corpus.resources):
            files = [f for f in registry[corpus.source].files if f.part == corpus.part]
            held = {lang for file in files for lang in file.languages} | set(corpus.packaged)
            assert held == set(languages_of(name)), name
    assert registry["mmarco"].of("zh")[0].id == "mmarco/collections/chinese_collection.tsv"
    assert registry["mlqa"].of("hi") == registry["mlqa"].of("vi")
    with pytest.raises(UserError, match=r"xquad has no language 'fr': choose among ar, de, el"):
        registry["xquad"].of("fr")


ENTRY = """
a:
  {{title: t, homepage: h, revision: r, licence: l, citation: c,
   files: [{{id: {id}, url: u, languages: [en], {rest}}}]}}
"""


@pytest.mark.parametrize(
    "text",
    [
        *("a: [", "a: 1", "[]", "", "a: {files: []}"),
        *(ENTRY.format(id="a/b", rest=rest) for rest in ("sha: 1", "size: 1")),
        *(ENTRY.format(id=name, rest="sha256: x") for name in ("a/../b", "/a/b", "b/b")),
    ],
)
def test_a_malformed_registry_is_refused(tmp_path, text):
    path = tmp_path / "sources.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=r"sources\.yaml is not a valid registry"):
        load_registry(path)
    path.write_text(ENTRY.format(id="a/b.tsv", rest="sha256: x"))
    assert load_registry(path)["a"].of("en")[0].id == "a/b.tsv"


def test_a_destination_that_cannot_be_written(source, tmp_path):
    (tmp_path / "file").write_text("not a directory")
    with pytest.raises(UserError, match="permissions or choose another place"):
        fetch(source, tmp_path / "file" / "data.tsv", patience=QUICK)


def test_progress_renews_the_patience(server, source, destination):
    server.faults[ID] = [Fault(stop_after=30_000)] * 10
    arrives(source, destination, patience=Patience(retries=1, backoff=0.001))
