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

# What verdicts, outcomes of requests and remarks mean, for readers of the explorer.

# By the verdict's first part; the parts after a colon say which reference, which text, how many.
MEANINGS = {
    "match": "A reference stands in the answer.",
    "match_all": "Every reference stands in the answer.",
    "semantic": "The answer is near a reference in meaning, by an embedding.",
    "no_match": "No reference stands in the answer.",
    "empty": "The answer is empty.",
    "yes": "The answer says yes.",
    "no": "The answer says no.",
    "no_verdict": "The answer says neither yes nor no.",
    "words": "The answer's words are a reference's.",
    "right": "The metric gives the answer all of its value.",
    "wrong": "The metric gives the answer nothing.",
    "not_found": "The answer lacks what was asked for.",
    "correct": "The answer is exactly what was asked for.",
    "partial": "The answer is right in part. After the colon: what it holds, and after '+' what else.",
    "several": "The answer has what was asked for, and others beside it.",
    "other_needle": "The answer gives what another needle says.",
    "wrong_number": "The answer gives another number than the one asked for.",
    "wrong_words": "The answer lacks all words that were asked for.",
    "no_number": "The answer gives no number.",
    "no_city": "The answer names no needle's city.",
    "unanswerable": "The answer says that the text has no answer, but the text has one.",
    "no_refusal": "The text has no answer, but the answer does not say so.",
    "none_error": "The answer says that there is no such number, but there is one.",
    "none_word": "The answer says 'none', but there is an answer.",
    "no_none_word": "The right answer is 'none', but the answer does not say so.",
    "no_answer": "The answer holds no text.",
    "length": "The limit on new tokens cut the answer before it said anything.",
    # Of the metric "careful".
    "undecided": "The second scorer does not decide; after a colon, why. The paper's metric gives the value.",
    "denied": "The answer denies a reference.",
    "replaced": "The answer names a reference, but concludes with something else.",
    "refused": "The answer names a reference, but says that it does not know.",
    "other": "The answer gives something else, or nothing that was asked for.",
    "unclear": "The answer says neither yes nor no.",
    "incomplete": "The answer lacks some of what was asked for.",
    "missing": "The answer lacks words that were asked for. Their number follows the colon.",
    "more": "The answer has words that were not asked for. Their number follows the colon.",
    "none": "The answer says that there is no such number, but there is one.",
    "no number": "The answer gives no number, and does not say that there is none.",
    "no refusal": "The text has no answer, but the answer does not say so.",
    "skipped": "The prompt does not fit into the model's context, so it was not sent.",
    "error": "The request failed.",
}
# The same for the list and its filters, where a sentence does not fit.
IN_WORDS = {
    "match": "reference found",
    "match_all": "all references found",
    "semantic": "near in meaning",
    "no_match": "reference not found",
    "empty": "empty answer",
    "yes": "says yes",
    "no": "says no",
    "no_verdict": "neither yes nor no",
    "words": "the words of a reference",
    "right": "right",
    "wrong": "wrong",
    "not_found": "not found",
    "correct": "correct",
    "partial": "right in part",
    "several": "others beside it",
    "other_needle": "another needle's",
    "wrong_number": "wrong number",
    "wrong_words": "wrong words",
    "no_number": "no number",
    "no_city": "no city",
    "unanswerable": "says it is not there",
    "no_refusal": "should have refused",
    "none_error": "says none, wrongly",
    "none_word": "says 'none', wrongly",
    "no_none_word": "'none' is missing",
    "no_answer": "no text",
    "length": "cut before an answer",
    "undecided": "not decided",
    "denied": "reference denied",
    "replaced": "concludes otherwise",
    "refused": "says it does not know",
    "other": "something else",
    "unclear": "neither yes nor no",
    "incomplete": "incomplete",
    "missing": "words are missing",
    "more": "words too many",
    "none": "says none, wrongly",
    "no number": "no number, no 'none'",
    "no refusal": "should have refused",
    "skipped": "not sent: too long",
    "error": "request failed",
}

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

    Raises UserError where a shard's name could not be a file's.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    shards = Shards(folder, one_file, threads)
    documents = DocumentShards(
        lambda n, payload, shuffled: shards.write(f"documents-{n}", payload, shuffled),
        lambda n, payload: shards.write(f"words-{n}", payload),
    )
    told = []
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
        "meanings": MEANINGS,
        "words": IN_WORDS,
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
    """The page. Nothing in it comes from the network, and its policy refuses what would."""
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
