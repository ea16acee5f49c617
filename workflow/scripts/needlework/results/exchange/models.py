"""What a record says of a model: its name, its weights, how it ran, and how it decoded."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from needlework.entry import Entry
from needlework.models.decoding import decoding
from needlework.models.readers import READERS

# A model's name as the hub has it.
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
UNKNOWN = "unknown"
# Which package is the engine of a backend.
_ENGINES = {"vllm": "vllm", "transformers": "transformers", "openvino": "openvino-genai"}


def hub_name(model: str, entry: Entry, engine: Mapping[str, Any], given: str | None) -> str:
    """A model's name as `<owner>/<model>`; `given` is the one that the configuration has for records.

    `engine` are the settings with which it ran, in which a replayed log names its model.
    """
    if entry["backend"] in READERS:
        return f"needlework/{model}"
    for name in (given, entry["name"], engine.get("model")):
        if isinstance(name, str) and HUB_NAME.fullmatch(name):
            return name
    return f"{UNKNOWN}/{re.sub(r'[^A-Za-z0-9_.-]', '-', model)}"


def model_info(model: str, known: Mapping[str, Any], entry: Entry, name: str) -> dict[str, Any]:
    """`known` is what the provenance has of the model for one benchmark: identity and ran_on."""
    ran = known["ran_on"][0] if known["ran_on"] else {}
    backend, hub = entry["backend"], entry["name"] or ""
    weights = backend in _ENGINES and HUB_NAME.fullmatch(hub) is not None
    details = {
        "deployment_type": "self_deployed" if backend in (*_ENGINES, *READERS) else UNKNOWN,
        "model_availability": "open_weights" if weights else UNKNOWN,
        "backend": backend,
        "identity": json.dumps(known["identity"], sort_keys=True, ensure_ascii=False),
    }
    for key in ("revision", "published", "context", "tokenizer"):
        if entry.get(key):
            details[key] = str(entry[key])
    if ran.get("gpus"):
        details["gpus"] = json.dumps(ran["gpus"], ensure_ascii=False)
    info: dict[str, Any] = {"name": model, "id": name, "additional_details": details}
    if name.split("/")[0] != UNKNOWN:
        info["developer"] = name.split("/")[0]
    version = ran.get("software", {}).get("packages", {}).get(_ENGINES.get(backend, ""))
    engine = {"name": backend, **({"version": version} if version else {})}
    return info | ({"inference_engine": engine} if backend in _ENGINES else {})


def generation_config(entry: Entry, engine: Mapping[str, Any]) -> dict[str, Any]:
    """A model's decoding settings; for a replayed log, the log's settings. Built-in readers have none."""
    if entry["backend"] in READERS:
        return {"additional_details": {"decoding": "none: a reader of the references or the text"}}
    if entry["backend"] == "replay":
        told = {key: as_text(value) for key, value in engine.items() if value is not None}
        arguments = {
            key: engine[key]
            for key in ("temperature", "top_p", "top_k")
            if isinstance(engine.get(key), int | float)
        }
        return {"generation_args": arguments, "additional_details": told}
    values = {**entry["sampling"], **entry.get("request", {})}
    return {
        "generation_args": {
            **{key: values[key] for key in ("temperature", "top_p", "top_k")},
            "reasoning": bool(entry["reasoning"]),
        },
        "additional_details": {"decoding": decoding(entry), "chat": as_text(entry["chat"])},
    }


def as_text(value: object) -> str:
    """A value as the text that `details` want: a text as it is, any other as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
