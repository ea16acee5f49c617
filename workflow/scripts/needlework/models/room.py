"""Room in a model's context for what surrounds its prompts."""

from __future__ import annotations

from needlework.entry import Entry
from needlework.errors import UserError


def check_room(
    entry: Entry,
    longest: int,
    overhead: int | None,
    reserve: int,
    limit: int | None = None,
) -> None:
    """Raise UserError if prompts fit into a model's context, but not with its template and reasoning.

    `longest` is the most tokens of a prompt and its answer that fit without, in the model's tokenizer;
    `overhead` is the tokens of template and reasoning, `reserve` the tokenizer's key, `limit` the context
    if it is not the entry's.
    """
    context = entry["context"] if limit is None else limit
    lacking = longest + (overhead or 0) - context
    if overhead and 0 < lacking <= overhead:
        raise UserError(
            f"models.{entry['model']}: its longest prompts take {longest} tokens, and its chat template and "
            f"reasoning {overhead} more: {lacking} too many for the context of {context}. Set "
            f"`reserve: {reserve + lacking}` for tokenizers.{entry['tokenizer']} (which builds its prompts "
            "anew), or leave the length out of this model's `lengths`."
        )
