"""What identifies a model's weights: a revision on the hub, or the content of local files."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

from needlework.folders import entries
from needlework.records import file_digest

# The files that a loader reads. A folder's README or licence does not change its model.
_READ = {
    *(".json", ".txt", ".jinja", ".model", ".tiktoken", ".py"),
    *(".safetensors", ".bin", ".pt", ".gguf", ".xml"),
}


def weights_identity(name: str, revision: str | None) -> dict[str, object]:
    """JSON values that change with the weights, the tokenizer and the configuration of a model.

    For a local file or folder: the digest of each file that a loader reads, without paths, so a copy
    elsewhere is the same model. Reading 16 GB of weights takes some ten seconds, in threads; a file
    that has not changed is not read again.
    """
    path = Path(name)
    if path.is_dir():
        files = [p for p in entries(path) if p.suffix in _READ and p.is_file()]
    elif path.is_file():
        files = [path]
    else:
        return {"name": name, "revision": revision}
    with ThreadPoolExecutor() as pool:
        digests = pool.map(_digest, files, [file.stat().st_mtime_ns for file in files])
        return {"files": {file.name: digest for file, digest in zip(files, digests, strict=True)}}


@lru_cache(None)
def _digest(file: Path, mtime_ns: int) -> str:
    return file_digest(file)
