"""Reads answers in other programs' files and in needlework's own form; finds out which program wrote a file.

Formats: logs of inspect_ai; samples of lm-eval (`samples_<task>_<date>.jsonl`, and `results_<date>.json`
beside them); files of OpenAI's batch API; instance files of Every Eval Ever (`<uuid>_samples.jsonl`, and the
record beside them); and needlework's own rows, in JSON Lines or Parquet.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from needlework.answer_states import LENGTH, STOP
from needlework.data.budgets import Budget
from needlework.errors import UserError
from needlework.models.backends.base import Answer
from needlework.models.backends.openai.batch_endpoint import read_result
from needlework.models.logs import inspect_ai
from needlework.models.logs.files import ENDINGS, LARGEST, beside, is_there, lines
from needlework.models.logs.logged import (
    NAMED,
    Logged,
    LogRun,
    Sent,
    beside_prompt,
    count,
    ended,
    failed,
    line_of,
    name_of,
    number,
    sent_as,
    sent_in,
    settings,
    text_digest,
)

FINISH_REASONS = (STOP, LENGTH)
# Of a batch: of a second answer and so on, "-1" and so on behind the prompt's name.
_NUMBERED = re.compile(r"([0-9a-f]{64})-(\d{1,9})")


class Format(NamedTuple):
    """A format of logs. All its functions may raise any exception (`logged`)."""

    # What a row is, in words.
    what: str
    # Reads the rows, each with its place.
    rows: Callable[[Path], Iterable[tuple[str, Any]]]
    # Reads the answers in a row.
    answers: Callable[[Any, LogRun], Iterable[Logged]]
    # Reads what lies beside the file.
    begin: Callable[[Path, LogRun], None] = lambda path, run: None


def logged(path: Path, run: LogRun) -> Iterator[Logged]:
    """Yield the answers in a file. What the file says of its run is stored in `run`.

    Raises UserError for any fault of the file.
    """
    kind = format_of(path)
    try:
        kind.begin(path, run)
        for place, row in kind.rows(path):
            try:
                found = list(kind.answers(row, run))
            except Exception as error:
                raise UserError(
                    f"{path}, {place}: not {kind.what} ({_said(error)}): correct it, or leave it out."
                ) from None
            for each in found:
                yield replace(each, place=place)
    except UserError:
        raise
    except Exception as error:
        raise UserError(
            f"{path} cannot be read ({_said(error)}): it is damaged; copy or write it again."
        ) from None


def _said(error: Exception) -> str:
    return line_of(error) or type(error).__name__


def format_of(path: Path) -> Format:
    """Which program wrote a file, by its ending and its first line.

    Raises UserError if the file is absent, if no program's files have this ending, or if the program is known
    but the file has no answers to read.
    """
    if path.suffix not in ENDINGS:
        raise UserError(
            f"the answers to replay in {path} (a model's key `answers`) must be a "
            f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]} file: convert it."
        )
    if not is_there(path, Path.is_file):
        raise UserError(
            f"the answers to replay in {path} (a model's key `answers`) do not exist: correct the path."
        )
    if path.suffix in (".eval", ".json"):
        return _INSPECT
    return _OWN_TABLE if path.suffix == ".parquet" else _of_lines(path)


def _of_lines(path: Path) -> Format:
    """By the first line that is not empty; what is no JSON is told when it is read."""
    try:
        with path.open("rb") as file:
            while (line := file.readline(LARGEST)) and not line.strip():
                pass
        row = json.loads(line) if len(line) < LARGEST else None
    except (OSError, ValueError, RecursionError):
        return _OWN
    keys = row.keys() if isinstance(row, dict) else set()
    if {"custom_id", "result"} <= keys:
        raise UserError(
            f"{path} is a batch of Anthropic, not a batch of OpenAI: write its answers as rows with "
            "`instance_id` and `text`."
        )
    return next((kind for wanted, kind in _BY_KEYS if wanted <= keys), _OWN)


def _begin_lm_eval(path: Path, run: LogRun) -> None:
    """Take the program, the model and its decoding from the results."""
    task, _, date = path.stem.removeprefix("samples_").rpartition("_")
    results = beside(path, f"results_{date}.json")
    run.said["program"] = line_of(f"lm-eval {results.get('lm_eval_version') or ''}")
    if model := name_of(results.get("model_name")):
        run.said["model"] = model
    configs = results.get("configs")
    own = configs.get(task) if isinstance(configs, Mapping) else None
    run.said |= settings(own.get("generation_kwargs") if isinstance(own, Mapping) else None)


def _lm_eval(row: Any, run: LogRun) -> Iterator[Logged]:
    """The answers to a document; lm-eval keeps neither why an answer ended nor its tokens."""
    name, texts = row["doc"]["instance_id"], row["resps"][0]
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(name, str) or not all(isinstance(text, str) for text in texts):
        raise TypeError("an answer is no text")
    sent, other = _lm_eval_sent(row)
    for sample, text in enumerate(texts):
        answer = ended(text, None, **beside_prompt(other))
        yield Logged(name, sample, answer, sent, run=run)


def _lm_eval_sent(row: Mapping[str, Any]) -> tuple[Sent, str | None]:
    """What was sent; and other text in the chat template."""
    (exported,) = [m["content"] for m in row["doc"]["messages"]]
    request = row["arguments"]["gen_args_0"]["arg_0"]
    if isinstance(request, list) and len(request) == 1 and isinstance(request[0], str):
        # As the models of servers get a chat.
        request = request[0]
    if isinstance(request, str) and request != exported and request.startswith("[{"):
        with suppress(ValueError):
            request = json.loads(request)
    return sent_in(request, exported) if isinstance(request, str) else (sent_as(request), None)


def _batch(row: Any, run: LogRun) -> Iterator[Logged]:
    """The answer in a line of an output or error file, or what a line of an input file sent."""
    run.said["program"] = "OpenAI batch"
    name = row["custom_id"]
    if not isinstance(name, str):
        raise TypeError("`custom_id` must be a string")
    found = _NUMBERED.fullmatch(name)
    own, sample = (found[1], number(int(found[2]))) if found else (name, 0)
    if "response" not in row:
        given = row["body"]
        prompt = given.get("prompt")
        sent: Sent = text_digest(prompt) if isinstance(prompt, str) else None
        sent = sent_as(given["messages"]) if "messages" in given else sent
        yield Logged(own, sample, None, sent, run=run)
        return
    response = row["response"]
    body = response.get("body") if isinstance(response, Mapping) else None
    body = body if isinstance(body, Mapping) else {}
    answer = read_result(row, body.get("object") != "text_completion", line_of)
    model = name_of(body.get("model"))
    if model:
        run.said.setdefault("model", model)
    yield Logged(own, sample, replace(answer, served=None), None, model, run=run)


def _begin_instances(path: Path, run: LogRun) -> None:
    """Take the program and its decoding from the record."""
    record = beside(path, f"{path.stem.removesuffix('_samples')}.json")
    run.said["program"] = "Every Eval Ever"
    library = record.get("eval_library")
    if isinstance(library, Mapping):
        run.said["program"] = line_of(f"{library.get('name')} {library.get('version')}")
    results: Any = record.get("evaluation_results")
    try:
        given = results[0]["generation_config"]["generation_args"]
    except (LookupError, TypeError):
        return
    run.said |= settings(given)


def _instance(row: Any, run: LogRun) -> Iterator[Logged]:
    """The answer in an instance: the same in several, where several metrics score it."""
    metadata = row.get("metadata") or {}
    name, model = row["sample_id"], name_of(row.get("model_id"))
    if not isinstance(name, str):
        raise TypeError("`sample_id` must be a string")
    sent, other = _instance_sent(row, name)
    sample = number(int(metadata.get("sample", 0)))
    if model:
        run.said.setdefault("model", model)
    answer = _instance_answer(row, metadata)
    if answer.error is None:
        answer = replace(answer, **beside_prompt(other))
    yield Logged(name, sample, answer, sent, model, run=run)


def _instance_sent(row: Mapping[str, Any], name: str) -> tuple[Sent, str | None]:
    """What was sent; and other text in the chat template."""
    prompt, formatted = row["input"]["raw"], row["input"].get("formatted")
    if not isinstance(prompt, str):
        raise TypeError("`input.raw` must be a string")
    if row.get("interaction_type") not in (None, "single_turn"):
        return "the model was asked in several turns", None
    if prompt.startswith(NAMED):
        same = prompt.removeprefix(NAMED) == name
        return None if same else "the log names another prompt beside its answer", None
    return sent_in(formatted, prompt) if isinstance(formatted, str) else (text_digest(prompt), None)


def _instance_answer(row: Mapping[str, Any], metadata: Mapping[str, Any]) -> Answer:
    """The answer; the format has no reason why it ended, but our own records have one in their metadata."""
    if error := row.get("error"):
        return failed(error)
    (text,) = row["output"]["raw"]
    if not isinstance(text, str):
        raise TypeError("an answer is no text")
    usage = row.get("token_usage")
    return ended(
        text,
        metadata.get("finish_reason"),
        prompt_tokens=count(usage, "input_tokens"),
        cached_tokens=count(usage, "input_tokens_cache_read"),
        completion_tokens=count(usage, "output_tokens"),
        reasoning_tokens=count(usage, "reasoning_tokens"),
    )


def _table(path: Path) -> Iterator[tuple[str, Any]]:
    """The rows of a Parquet file, each with its place in words."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            # Declared and not decompressed: one text repeated is as large as it is written.
            about = file.metadata
            groups = [about.row_group(number) for number in range(about.num_row_groups)]
        size = sum(group.total_byte_size for group in groups)
        budget = Budget([path], path.stat().st_size, "the answers to replay")
        budget.declared(size)
        table = pq.read_table(path, read_dictionary=["text"])
        table.validate(full=True)
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError(f"{path} cannot be read as Parquet ({error}): write it again.") from None
    rows = (row for batch in table.to_batches(max_chunksize=64) for row in batch.to_pylist())
    for place, row in enumerate(rows):
        budget.take(place, row)
        yield f"row {place + 1}", row


def _own(row: Any, run: LogRun) -> Iterator[Logged]:
    """The answer in a row: `instance_id`, `text`, and perhaps `sample`, `finish_reason`, `model`.

    The prompt is compared if the row has it: as `messages`, as an export writes them, or as `prompt`.
    """
    if not isinstance(row, dict):
        raise TypeError("not an object")
    # A column that other rows have is null in this one: the same as absent.
    row = {name: value for name, value in row.items() if value is not None}
    for name in ("instance_id", "text"):
        if not isinstance(row.get(name), str):
            raise TypeError(f"`{name}` must be a string")
    sample, reason = row.get("sample", 0), row.get("finish_reason")
    if type(sample) is not int or sample < 0:
        raise ValueError("`sample` must be a number from 0")
    if reason is not None and reason not in FINISH_REASONS:
        raise ValueError(f"`finish_reason` must be one of {', '.join(FINISH_REASONS)}")
    sent: Sent = None
    if "messages" in row:
        sent = sent_as(row["messages"])
    elif isinstance(row.get("prompt"), str):
        sent = text_digest(row["prompt"])
    if model := name_of(row.get("model")):
        run.said.setdefault("model", model)
    answer = ended(row["text"], reason)
    yield Logged(row["instance_id"], number(sample), answer, sent, model, run=run)


_INSPECT = Format("a sample of inspect_ai", inspect_ai.log_parts, inspect_ai.logged_answers)
_OWN = Format("an answer with `instance_id` and `text`", lines, _own)
_OWN_TABLE = _OWN._replace(rows=_table)
_BATCH = Format("a line of a batch of OpenAI", lines, _batch)
# Of JSON Lines, by keys that each line has.
_BY_KEYS: tuple[tuple[set[str], Format], ...] = (
    (
        {"doc", "resps"},
        Format("a sample of lm-eval for an exported prompt", lines, _lm_eval, _begin_lm_eval),
    ),
    ({"custom_id", "response"}, _BATCH),
    ({"custom_id", "body"}, _BATCH),
    (
        {"schema_version", "sample_id"},
        Format("an instance with one answer", lines, _instance, _begin_instances),
    ),
)
