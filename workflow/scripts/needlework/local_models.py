"""What the backends that load a model's weights share: how a prompt becomes its tokens, and messages."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from needlework.errors import UserError, reason

logger = logging.getLogger("needlework")


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


def form(config: Mapping[str, Any]) -> str:
    """In words, what the model of an entry gets of a prompt."""
    if not config["chat"]:
        return "as raw text"
    return f"in the chat template of {config['chat_template'] or 'the tokenizer'}"


def warn_if_unpinned(where: str, name: str, revision: str | None) -> None:
    """Warn where a model of the hub is not pinned: its answers will not be another day's."""
    if revision is None and not Path(name).is_dir():
        logger.warning(
            "%s.revision is not set: the answers are those of the hub's main branch of today.",
            where,
        )


def unfilled_template(where: str, name: str, error: Exception) -> UserError:
    """What to raise where no prompt can be put into the chat template of the model `name`."""
    return UserError(
        f"{where}: a prompt cannot be put into the chat template of {name}: {reason(error)}. Set "
        "`chat: false` for a base model, or give `chat_template`."
    )
