"""Texts of control tokens in prompts: a passage that quotes `<|im_end|>` must not end the user's message.

No engine here can ignore such quotes and still read the chat template's own tokens. So a text is tokenized in
pieces, cut inside the quoted texts: no piece holds the whole of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

# How control tokens are written: ChatML, Llama, Gemma, Mistral, T5 and their kin.
CONTROL_TEXT = re.compile(
    r"<[|｜][^<>|｜\s]{1,40}[|｜]>|</?s>|<(?:bos|eos|pad|unk|mask)>|\[/?INST\]|<<?/?SYS>>?"
    r"|<(?:start|end)_of_(?:turn|text)>|</?tool_call>|</?think>"
)

# The most characters of such a text.
LONGEST = 44


def quoted_control(text: str) -> str | None:
    """The first control token's text in a text. It is found as by CONTROL_TEXT, but many times as fast."""
    found = None
    for sign in "<[":
        place = text.find(sign)
        while place >= 0 and (found is None or place < found.start()):
            if (match := CONTROL_TEXT.match(text, place)) is not None:
                found = match
                break
            place = text.find(sign, place + 1)
    return found and found[0]


def control_texts(names: Iterable[str]) -> tuple[str, ...]:
    """A tokenizer's tokens that look like control tokens, the longest first."""
    own = {name for name in names if len(name) > 2 and re.fullmatch(r"[<\[][^\s]*[>\]]", name)}
    return tuple(sorted(own, key=lambda name: (-len(name), name)))


def pieces(text: str, prompt: str, controls: Sequence[str]) -> list[str] | None:
    """`text`, which holds `prompt`, cut in the middle of each control token's text in the prompt.

    Tokenized one by one, the pieces have none of these tokens. If there is nothing to cut, there is one
    piece. None if the prompt is not found as it is, so that it cannot be told from the template.
    """
    if not controls:
        return [text]
    for part in (prompt, prompt.strip()):
        cuts = [match.start() + 1 for match in _pattern(controls).finditer(part)]
        if not cuts:
            return [text]
        if text.count(part) == 1:
            start = text.index(part)
            places = [0, *(start + cut for cut in cuts), len(text)]
            return [text[a:b] for a, b in pairwise(places)]
    return None


def _pattern(controls: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, controls)))
