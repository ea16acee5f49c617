"""The explorer's folder: the page with its program and style, and the shards beside it or inside it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from needlework import __version__, answer_states
from needlework.atomic import atomic_write
from needlework.errors import UserError
from needlework.prompts.spans import ROLES
from needlework.results.explorer.data import Explored, write_benchmark
from needlework.results.explorer.data_files import encoded, script
from needlework.results.explorer.documents import DocumentShards

# What became of a request, and what else is to be told of an answer, by their names in files of answers.
OUTCOMES = {
    answer_states.ANSWERED: "answered",
    answer_states.EMPTY: "empty answer",
    answer_states.CUT: "answer cut at the limit on new tokens",
    answer_states.PROMPT_CUT: "prompt cut by the server",
    answer_states.REFUSED: "refused by the server",
    answer_states.FAILED: "request failed",
    answer_states.SKIPPED: "too long for the context, not sent",
    answer_states.UNASKED: "not sent before the job ended",
}
REMARKS = {
    answer_states.REASONED: "reasoning, but no answer",
    answer_states.UNKNOWN_END: "no finish_reason",
    answer_states.OTHER_MODEL: "the reply names another model",
    answer_states.ODD_COUNT: "unexpected count of prompt tokens",
    answer_states.CONTROL_TOKENS: "the prompt quotes a control token",
    answer_states.DATED: "a fixed date in the chat template",
    answer_states.LONGER: "longer than the limit",
    answer_states.BESIDE_PROMPT: "other text before the prompt",
    answer_states.UNKNOWN_MARK: "unknown tag at the beginning",
    answer_states.UNDECODED: "letters of a tokenizer",
    answer_states.DROPPED: "a setting that the provider ignores",
    answer_states.RETRIED: "an earlier attempt failed",
}


# Shards of so many bytes in all are part of the page: one file to open and to send.
ONE_FILE = 4 << 20


class Shards:
    """Shards by name: held while they are small enough for one file, then written beside the page.

    Threads compress them, which needs no lock of Python's.
    """

    def __init__(self, folder: Path, one_file: int = ONE_FILE, threads: int = 1) -> None:
        self.folder, self.one_file = folder, one_file
        self.held: dict[str, str] = {}
        self._size = 0
        self.beside = False
        self._threads = ThreadPoolExecutor(threads)
        self._waiting: deque[tuple[str, Future[str]]] = deque()
        # More would only take memory.
        self._most = 4 * threads

    def write(self, name: str, payload: bytes, shuffled: bool = False) -> None:
        """Take a shard (`encoded`)."""
        self._waiting.append((name, self._threads.submit(encoded, payload, shuffled)))
        if len(self._waiting) > self._most:
            self._take()

    def finish(self) -> None:
        """Wait for all shards."""
        while self._waiting:
            self._take()
        self._threads.shutdown()

    def _take(self) -> None:
        """The first shard that waits, once it is compressed: in the order in which they came."""
        name, future = self._waiting.popleft()
        text = future.result()
        self._size += len(text)
        if self.beside:
            self._to_file(name, text)
            return
        self.held[name] = text
        if self._size > self.one_file:
            self.beside = True
            (self.folder / "data").mkdir(parents=True, exist_ok=True)
            for held, own in self.held.items():
                self._to_file(held, own)
            self.held = {}

    def _to_file(self, name: str, text: str) -> None:
        with atomic_write(self.folder / "data" / f"{name}.js") as part:
            part.write_text(script(name, text), encoding="ascii")


def write_explorer(
    folder: str | Path,
    benchmarks: Mapping[str, Explored],
    *,
    program: str | Path,
    style: str | Path,
    one_file: int = ONE_FILE,
    threads: int = 1,
) -> dict[str, int]:
    """Write index.html and its shards; returns the numbers of instances, answers and documents.

    `benchmarks` are by name. `program` and `style` are the bundles that `explorer/build.mjs` makes.

    Raises UserError if a shard's name could not be a file's.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    shards = Shards(folder, one_file, threads)
    documents = DocumentShards(
        lambda n, payload, shuffled: shards.write(f"documents-{n}", payload, shuffled),
        lambda n, payload: shards.write(f"words-{n}", payload),
    )
    told = []
    # A verdict has one meaning in all benchmarks.
    meanings = {verdict: m for own in benchmarks.values() for verdict, m in own.meanings.items()}
    for name, own in benchmarks.items():
        if not name.replace("_", "").isalnum():
            raise UserError(f"the benchmark {name!r} cannot be part of a file's name: rename it.")
        told.append(write_benchmark(name, own, documents, shards.write))
    documents.flush()
    shards.finish()
    about = {
        "version": __version__,
        "roles": list(ROLES),
        "benchmarks": told,
        "documents": documents.starts,
        "meanings": {verdict: sentence for verdict, (sentence, _) in meanings.items()},
        "words": {verdict: words for verdict, (_, words) in meanings.items()},
        "outcomes": OUTCOMES,
        "remarks": REMARKS,
    }
    page = html(
        about, shards.held, Path(program).read_text("utf-8"), Path(style).read_text("utf-8")
    )
    with atomic_write(folder / "index.html") as part:
        part.write_text(page, encoding="utf-8")
    return {
        "instances": sum(benchmark["instances"] for benchmark in told),
        "answers": sum(benchmark["answers"] for benchmark in told),
        "documents": len(documents),
    }


def html(about: Mapping[str, object], inside: Mapping[str, str], program: str, style: str) -> str:
    """The page. It loads nothing from the network, and its content policy forbids it."""
    elements = "".join(
        f'<script type="text/plain" id="shard-{name}">{text}</script>\n'
        for name, text in inside.items()
    )
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src 'self' file: {_hash(program)}",
            f"style-src {_hash(style)}",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>needlework explorer</title>
<style>{style}</style>
</head>
<body>
<div id="page"><noscript>The explorer needs JavaScript.</noscript></div>
<script type="application/json" id="about">{_in_script(about)}</script>
{elements}<script>{program}</script>
</body>
</html>
"""


def _in_script(value: object) -> str:
    """JSON that cannot end the element that holds it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _hash(text: str) -> str:
    """A source expression of a content security policy."""
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"
