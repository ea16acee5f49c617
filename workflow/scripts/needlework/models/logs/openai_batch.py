"""Output files of OpenAI's batch API: a line for each request, with the response in it.

A request's `custom_id` is the prompt's name; of a second answer and so on, "-1" and so on behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from needlework.errors import UserError
from needlework.models.logs.logged import About, Logged, excerpt, lines, plain
from needlework.models.openai_batch_endpoint import read_result

_NUMBERED = re.compile(r"([0-9a-f]{64})-(\d{1,9})")


def read(path: Path, about: About) -> Iterator[Logged]:
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
