"""Samples of lm-eval (`samples_<task>_<date>.jsonl`), and `results_<date>.json` beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from needlework.errors import UserError
from needlework.models.logs.logged import (
    DECODING,
    MALFORMED,
    About,
    Logged,
    beside,
    ended,
    excerpt,
    lines,
    one_message,
    plain,
    text_digest,
)


def read(path: Path, about: About) -> Iterator[Logged]:
    """The answers in a file of samples; `about` gets what the results say of the run.

    lm-eval keeps neither why an answer ended nor its tokens.
    """
    task, _, date = path.stem.removeprefix("samples_").rpartition("_")
    about |= _about(beside(path, f"results_{date}.json"), task)
    for place, row in lines(path):
        try:
            name, prompt, answers = row["doc"]["instance_id"], _prompt(row), row["resps"][0]
            if not isinstance(name, str) or not all(isinstance(text, str) for text in answers):
                raise TypeError("an answer is no text")
        except MALFORMED as error:
            raise UserError(
                f"{path}, {place}: not a sample of lm-eval for an exported prompt ({excerpt(error)}): leave "
                "it out."
            ) from None
        for sample, text in enumerate([answers] if isinstance(answers, str) else answers):
            yield Logged(name, sample, ended(text, None), text_digest(prompt), place, repeated=True)


def _prompt(row: Mapping[str, Any]) -> str:
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


def _about(results: Mapping[str, Any], task: str) -> About:
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
