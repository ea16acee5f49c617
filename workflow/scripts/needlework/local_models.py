"""What the backends that load a model's weights share: how a prompt becomes its tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from needlework.errors import UserError


def read_chat_template(path: str | None, where: str) -> str | None:
    """The chat template in a file; None is the tokenizer's own. `where` is the model's place in words."""
    try:
        return path and Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"{where}.chat_template: {path} cannot be read ({error}): correct the path."
        ) from None


def encode(tokenizer: Any, prompt: str, *, chat: bool, template: str | None) -> list[int]:
    """The prompt as the model gets it. A chat template brings its own first token."""
    if not chat:
        return list(tokenizer.encode(prompt))
    return list(
        tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}],
            chat_template=template,
            add_generation_prompt=True,
            tokenize=True,
            return_dict=False,
        )
    )


def reason(error: Exception) -> str:
    """The first line that says something, of an error whose class is not ours."""
    details = getattr(error, "errors", None)
    text = details()[0]["msg"] if callable(details) else str(error)
    lines = text.strip().splitlines() or [type(error).__name__]
    return lines[0].removeprefix("Value error, ").rstrip(".:")[:300]
