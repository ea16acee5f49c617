"""What identifies a model's weights: a revision on the hub, or the content of a local folder."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

from needlework.records import file_digest

# What a loader reads. A folder's README or licence says nothing about its model.
_READ = {
    *(".json", ".txt", ".jinja", ".model", ".tiktoken", ".py"),
    *(".safetensors", ".bin", ".pt", ".gguf"),
}


@lru_cache(None)
def weights_identity(name: str, revision: str | None) -> dict[str, Any]:
    """JSON values that change with the weights, the tokenizer and the configuration of a model.

    Of a local folder, the digest of each file that a loader reads: no path, so a copy elsewhere is
    the same model. Reading 16 GB of weights takes some ten seconds, in threads; a job
    does it once.
    """
    folder = Path(name)
    if not folder.is_dir():
        return {"name": name, "revision": revision}
    files = sorted(p for p in folder.iterdir() if p.suffix in _READ and p.is_file())
    with ThreadPoolExecutor() as pool:
        digests = pool.map(file_digest, files)
        return {"files": {file.name: digest for file, digest in zip(files, digests, strict=True)}}
