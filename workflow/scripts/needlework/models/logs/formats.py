"""Answers in other programs' files, by what wrote them, and in needlework's own form.

Samples of lm-eval (`samples_<task>_<date>.jsonl`, and `results_<date>.json` beside them), output files of
OpenAI's batch API, instance files of Every Eval Ever (`<uuid>_samples.jsonl`, and the record beside them),
and needlework's own rows, in JSON Lines or Parquet. `inspect_ai` has logs of inspect_ai.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from needlework.data.budgets import Budget
from needlework.errors import UserError
from needlework.models.backends.base import Answer
from needlework.models.logs import inspect_ai
from needlework.models.logs.files import ENDINGS, LARGEST, beside, lines
from needlework.models.logs.logged import (
    DECODING,
    MALFORMED,
    NAMED,
    About,
    Logged,
    count,
    ended,
    excerpt,
    failed,
    one_message,
    plain,
    text_digest,
)
from needlework.models.openai_batch_endpoint import read_result

FINISH_REASONS = ("stop", "length")
# Of a batch: of a second answer and so on, "-1" and so on behind the prompt's name.
_NUMBERED = re.compile(r"([0-9a-f]{64})-(\d{1,9})")


def read_lm_eval(path: Path, about: About) -> Iterator[Logged]:
    """The answers in a file of samples; `about` gets what the results say of the run.

    lm-eval keeps neither why an answer ended nor its tokens.
    """
    task, _, date = path.stem.removeprefix("samples_").rpartition("_")
    about |= _lm_eval_run(beside(path, f"results_{date}.json"), task)
    for place, row in lines(path):
        try:
            name, prompt, answers = row["doc"]["instance_id"], _lm_eval_prompt(row), row["resps"][0]
            if not isinstance(name, str) or not all(isinstance(text, str) for text in answers):
                raise TypeError("an answer is no text")
        except MALFORMED as error:
            raise UserError(
                f"{path}, {place}: not a sample of lm-eval for an exported prompt ({excerpt(error)}): leave "
                "it out."
            ) from None
        for sample, text in enumerate([answers] if isinstance(answers, str) else answers):
            yield Logged(name, sample, ended(text, None), text_digest(prompt), place, repeated=True)


def _lm_eval_prompt(row: Mapping[str, Any]) -> str:
    """The prompt as it was exported, if the request holds it, be it in a chat template; or the request."""
    exported = one_message(row["doc"]["messages"])
    request = row["arguments"]["gen_args_0"]["arg_0"]
    if isinstance(request, list) and len(request) == 1 and isinstance(request[0], str):
        # As the models of servers get a chat.
        request = request[0]
    if isinstance(request, str) and exported not in request:
        # A chat, as JSON.
        request = json.loads(request) if request.startswith("[") else request
    sent = request if isinstance(request, str) else one_message(request)
    return exported if exported in sent else sent


def _lm_eval_run(results: Mapping[str, Any], task: str) -> About:
    """The program, the model and its decoding."""
    if not results:
        return {"program": "lm-eval"}
    version = results.get("lm_eval_version") or ""
    found = {"program": f"lm-eval {version}".strip(), **plain({"model": results.get("model_name")})}
    configs = results.get("configs")
    own = configs.get(task) if isinstance(configs, Mapping) else None
    given = own.get("generation_kwargs") if isinstance(own, Mapping) else None
    if isinstance(given, Mapping):
        found |= plain({key: given.get(key) for key in DECODING})
    return found


def read_batch(path: Path, about: About) -> Iterator[Logged]:
    """The answers in a file; `about` gets the model that the first of them names."""
    about["program"] = "OpenAI batch"
    for place, row in lines(path):
        name = row.get("custom_id") if isinstance(row, Mapping) else None
        if not isinstance(name, str):
            raise UserError(f"{path}, {place}: `custom_id` must be a string: correct it.")
        body = _body(row)
        chat = not (isinstance(body, Mapping) and body.get("object") == "text_completion")
        answer = read_result(row, chat, excerpt)
        if isinstance(body, Mapping) and "model" not in about:
            about |= plain({"model": body.get("model")})
        found = _NUMBERED.fullmatch(name)
        own, sample = (found[1], int(found[2])) if found else (name, 0)
        yield Logged(own, sample, answer, place=place)


def _body(row: Mapping[str, Any]) -> Any:
    response = row.get("response")
    return response.get("body") if isinstance(response, Mapping) else None


def read_instances(path: Path, about: About) -> Iterator[Logged]:
    """The answers in a file, each once, though several metrics score it."""
    about |= _instances_run(beside(path, f"{path.stem.removesuffix('_samples')}.json"))
    for place, row in lines(path):
        try:
            metadata = row.get("metadata") or {}
            name, sample = row["sample_id"], int(metadata.get("sample", 0))
            prompt = row["input"]["raw"]
            if not isinstance(name, str) or not isinstance(prompt, str):
                raise TypeError("sample_id and input.raw must be strings")
            digest = None if prompt.startswith(NAMED) else text_digest(prompt)
            yield Logged(
                name, sample, _instances_answer(row, metadata), digest, place, repeated=True
            )
        except MALFORMED as error:
            raise UserError(
                f"{path}, {place}: not an instance with one answer ({excerpt(error)}): leave it out."
            ) from None
        if "model" not in about:
            about |= plain({"model": row.get("model_id")})


def _instances_answer(row: Mapping[str, Any], metadata: Mapping[str, Any]) -> Answer:
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


def _instances_run(record: Mapping[str, Any]) -> About:
    """The program and its decoding."""
    found: About = {"program": "Every Eval Ever"}
    library = record.get("eval_library")
    if isinstance(library, Mapping):
        found["program"] = excerpt(f"{library.get('name')} {library.get('version')}")
    results: Any = record.get("evaluation_results")
    try:
        given = results[0]["generation_config"]["generation_args"]
        return found | plain({key: given.get(key) for key in DECODING})
    except MALFORMED:
        return found


def read_own(path: Path, about: About) -> Iterator[Logged]:
    """The answers in a file: columns `instance_id`, `text`, and perhaps `sample` and `finish_reason`."""
    rows = lines(path) if path.suffix == ".jsonl" else _rows(path)
    return (_parse(path, place, row) for place, row in rows)


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
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
    for number, row in enumerate(rows):
        budget.take(number, row)
        yield f"row {number + 1}", row


def _parse(path: Path, place: str, row: Any) -> Logged:
    """The answer in a row."""

    def need(holds: bool, what: str) -> None:
        if not holds:
            raise UserError(f"{path}, {place}: {what}: correct it.")

    need(isinstance(row, dict), "not an object")
    # A column that other rows have is null in this one: the same as absent.
    row = {name: value for name, value in row.items() if value is not None}
    need(isinstance(row.get("instance_id"), str), "`instance_id` must be a string")
    need(isinstance(row.get("text"), str), "`text` must be a string")
    sample, reason = row.get("sample", 0), row.get("finish_reason")
    need(type(sample) is int and sample >= 0, "`sample` must be a number from 0")
    known = reason is None or reason in FINISH_REASONS
    need(known, f"`finish_reason` must be one of {', '.join(FINISH_REASONS)}")
    return Logged(row["instance_id"], sample, ended(row["text"], reason), place=place)


Read = Callable[[Path, About], Iterator[Logged]]
# Of JSON Lines, by two keys that each line has.
_LINES: tuple[tuple[set[str], Read], ...] = (
    ({"doc", "resps"}, read_lm_eval),
    ({"custom_id", "response"}, read_batch),
    ({"schema_version", "sample_id"}, read_instances),
)


def reader_of(path: Path) -> Read:
    """The function that reads a file of answers. UserError if no program's files end so, or it is absent."""
    if path.suffix not in ENDINGS:
        raise UserError(
            f"the answers to replay in {path} (a model's key `answers`) must be a "
            f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]} file: convert it."
        )
    if not path.is_file():
        raise UserError(
            f"the answers to replay in {path} (a model's key `answers`) do not exist: correct the path."
        )
    if path.suffix in (".eval", ".json"):
        return inspect_ai.read
    return read_own if path.suffix == ".parquet" else _of_lines(path)


def _of_lines(path: Path) -> Read:
    """By the first line that is not empty; what is no JSON is told when it is read."""
    with path.open("rb") as file:
        while (line := file.readline(LARGEST)) and not line.strip():
            pass
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return read_own
    keys = row.keys() if isinstance(row, dict) else set()
    return next((read for wanted, read in _LINES if wanted <= keys), read_own)
