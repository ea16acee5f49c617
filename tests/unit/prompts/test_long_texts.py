"""Texts at which tiktoken panics are tokenized in pieces, to the same tokens."""

from __future__ import annotations

import pytest
import tiktoken

from needlework.prompts.tokenizers import in_pieces
from tokenizers_made import LLAMA_3, texts


def encoding() -> tiktoken.Encoding:
    """One token a byte, and some of two and four, split as Llama 3 splits."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    for pair in (b"  ", b"th", b"he", b"    ", b"in", b"an"):
        ranks[pair] = len(ranks)
    return tiktoken.Encoding("made", pat_str=LLAMA_3, mergeable_ranks=ranks, special_tokens={})


class PanicException(BaseException):
    """As the library's."""


def panics(text: str) -> list[int]:
    raise PanicException(text[:10])


def test_pieces_give_the_tokens_of_the_whole_text() -> None:
    made = encoding()
    always = in_pieces(made, panics)
    for text in (*(t[:5000] for t in texts()), "", "  a \n\n b's 12345 <|im_end|>", "a\ud800b"):
        assert always(text) == made.encode_ordinary(text)


def test_a_million_spaces_before_a_letter_are_counted() -> None:
    made = encoding()
    text = "a" + " " * 1_000_000 + "b"
    with pytest.raises(BaseException, match="StackOverflow"):
        made.encode_ordinary(text)
    # All spaces but the last are a piece, of the largest tokens; the last goes with the letter.
    assert len(in_pieces(made, made.encode_ordinary)(text)) == 1 + 249_999 + 2 + 2


def test_other_errors_are_raised_as_they_are() -> None:
    def interrupted(text: str) -> list[int]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_pieces(encoding(), interrupted)("x")
