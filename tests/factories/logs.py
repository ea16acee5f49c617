"""Logs of other programs, as they write them."""

from __future__ import annotations

import json
import struct
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from factories.models import backend_of
from needlework.journal import Journal
from needlework.models.backends.base import Request
from needlework.models.generation import generate
from needlework.prompts.spans import literal

LOST = "attachment://" + "0" * 32


ID = "5a" * 32


PROMPT = "Where is Quillmouth? \u2028é\n"


def output(
    text: Any = "in the north", end: str | None = "max_tokens", **own: Any
) -> dict[str, Any]:
    """What a model gave, as inspect_ai has it."""
    message = {"role": "assistant", "content": text}
    usage = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 12}
    return {
        "model": "served",
        "choices": [{"message": message, "stop_reason": end}],
        "usage": {**usage, "input_tokens_cache_read": 2},
        **own,
    }


def sample(**changed: Any) -> dict[str, Any]:
    """A sample as inspect_ai 0.3.285 writes it, as far as it is read."""
    asked = {"id": ID, "epoch": 1, "input": [{"role": "user", "content": PROMPT}]}
    return {**asked, "output": output(), **changed}


HEADER: dict[str, Any] = {
    "status": "success",
    "eval": {
        "model": "openai/served",
        "packages": {"inspect_ai": "0.3.285"},
        "model_args": {"api_key": "sk-secret"},
    },
    "plan": {"config": {"temperature": 0.0, "max_tokens": 16}},
}


def write_zstd(path: Path, contents: Mapping[str, bytes], **lies: int) -> None:
    """An archive of members packed with Zstandard (method 93), as inspect_ai writes it.

    `lies` are values of the headers that are not true: size, crc, flags.
    """
    directory, out = b"", b""
    for name, content in contents.items():
        packed = bytes(pa.Codec("zstd").compress(content))
        crc, size = lies.get("crc", zlib.crc32(content)), lies.get("size", len(content))
        fields = (63, lies.get("flags", 0), lies.get("method", 93), 0, 33, crc, len(packed), size)
        raw = name.encode()
        head = struct.pack("<HHHHHIIIHH", *fields, len(raw), 0)
        directory += b"PK\1\2" + struct.pack("<H", 63) + head
        directory += struct.pack("<HHHII", 0, 0, 0, 0, len(out)) + raw
        out += b"PK\3\4" + head + raw + packed
    end = struct.pack("<HHHHIIH", 0, 0, len(contents), len(contents), len(directory), len(out), 0)
    path.write_bytes(out + directory + b"PK\5\6" + end)


def written(path: Path, *samples: Mapping[str, Any]) -> Path:
    """A log of inspect_ai, in the form that its ending says."""
    if path.suffix == ".json":
        path.write_text(json.dumps({"version": 2, **HEADER, "samples": samples}, indent=2))
        return path
    members = {f"samples/{i}.json": json.dumps(s).encode() for i, s in enumerate(samples)}
    write_zstd(
        path, {**members, "summaries.json": b"[", "header.json": json.dumps(HEADER).encode()}
    )
    return path


def packed(path: Path, *members: Mapping[str, Any], method: int = zipfile.ZIP_STORED) -> Path:
    """An archive of members in JSON; of several mappings, names may come twice."""
    with zipfile.ZipFile(path, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, value in ((name, own[name]) for own in members for name in own):
            archive.writestr(name, json.dumps(value))
    return path


def lm_eval_row(**changed: Any) -> dict[str, Any]:
    doc = {"instance_id": ID, "messages": [{"role": "user", "content": PROMPT}]}
    arguments = {"gen_args_0": {"arg_0": PROMPT, "arg_1": {"until": []}}}
    return {"doc_id": 0, "doc": doc, "arguments": arguments, "resps": [["a", "b"]], **changed}


def asked_by_lm_eval(sent: Any, answers: list[str]) -> dict[str, Any]:
    return lm_eval_row(arguments={"gen_args_0": {"arg_0": sent}}, resps=[answers])


def json_lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


NAMES = {
    **{"inspect": "a.eval", "lm_eval": "samples_a_b.jsonl", "batch": "out.jsonl"},
    **{"instances": "u_samples.jsonl", "own": "own.jsonl"},
}


def log_of(tmp_path: Path, program: str, *rows: Any) -> Path:
    make = written if program == "inspect" else json_lines
    return make(tmp_path / NAMES[program], *rows)


def batch_row(
    name: str = ID, model: str = "gpt", tokens: int = 3, **changed: Any
) -> dict[str, Any]:
    choice = {"index": 0, "message": {"content": "north"}, "finish_reason": "length"}
    usage = {"prompt_tokens": 9, "completion_tokens": tokens}
    body = {"object": "chat.completion", "model": model, "choices": [choice], "usage": usage}
    return {"custom_id": name, "response": {"status_code": 200, "body": body}, **changed}


def eee_row(**changed: Any) -> dict[str, Any]:
    return {
        **{"schema_version": "0.3.0", "evaluation_id": "e", "model_id": "org/m"},
        **{"evaluation_name": "n", "sample_id": ID, "interaction_type": "single_turn"},
        "input": {"raw": PROMPT, "reference": []},
        "output": {"raw": ["north"]},
        "token_usage": {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12},
        **changed,
    }


def replayed(tmp_path: Path, *paths: Path, prompt: str = PROMPT) -> pa.Table:
    """The answers of files to one request, as a model's."""
    backend = backend_of("replay", {"answers": [str(path) for path in paths]})
    asked = Request(ID, 0, "exact", [literal("question", prompt)], ["x"], 16, 1, {})
    with Journal(tmp_path / "journal") as journal:
        return generate([asked], backend, journal)


def chat(*turns: str) -> list[dict[str, Any]]:
    """Messages: of a user, or of the role before ": "."""
    pairs = [turn.split(": ", 1) if ": " in turn else ["user", turn] for turn in turns]
    return [{"role": role, "content": text} for role, text in pairs]
