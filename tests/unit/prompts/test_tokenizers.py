"""Tokenizers behind their one protocol."""

from __future__ import annotations

import pytest
import tiktoken

from needlework.data.words import word_starts
from needlework.errors import UserError
from needlework.prompts.tokenizers import in_pieces, load_tokenizer
from tokenizers_made import LLAMA_3, texts


def test_packaged_tokenizers_count_words_characters_and_plain_text() -> None:
    words = load_tokenizer("w", {"kind": "words", "reserve": 40})
    assert [*map(words.count, ("Der Turm, gebaut 1873.", "这座塔建于1873年", ""))] == [4, 7, 0]
    assert word_starts("ab 塔c d") == [0, 3, 4, 6]
    characters = load_tokenizer("c", {"kind": "characters"})
    assert characters.count("né塔") == 3
    assert (words.reserve, characters.reserve) == (40, 0)
    # Special tokens in a text are text.
    assert load_tokenizer("m", {"kind": "mistral-common", "version": "v1"}).count("<s>[INST]") > 2


def test_a_local_hugging_face_tokenizer_counts_without_special_tokens(tmp_path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel({"?": 0, "<s>": 1, "tower": 2, "old": 3}, unk_token="?"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 1)])
    PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>").save_pretrained(tmp_path)
    tokenizer = load_tokenizer("h", {"kind": "huggingface", "name": str(tmp_path)})
    assert tokenizer.count("old tower") == 2


@pytest.mark.parametrize(("ignore_merges", "tokens"), [(None, 1), (True, 1), (False, 2)])
def test_merges_can_be_heeded_for_whole_words(tmp_path, ignore_merges, tokens) -> None:
    """As Llama 3's tokenizer did until spring 2024."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    vocabulary = {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4}
    made = Tokenizer(models.BPE(vocabulary, [("a", "b")], ignore_merges=True))
    PreTrainedTokenizerFast(tokenizer_object=made).save_pretrained(tmp_path)
    config = {"kind": "huggingface", "name": str(tmp_path), "ignore_merges": ignore_merges}
    assert load_tokenizer("h", config).count("abc") == tokens


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"kind": "tiktoken", "encoding": "no_such"}, "TIKTOKEN_CACHE_DIR"),
        ({"kind": "mistral-common", "version": "v0"}, "Check `version`"),
        ({"kind": "huggingface", "name": "/nowhere/at-all"}, "local folder"),
    ],
)
def test_an_unloadable_tokenizer_is_named_with_a_remedy(config, said, monkeypatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError) as raised:
        load_tokenizer("mine", config)
    assert "tokenizers.mine" in str(raised.value)
    assert said in str(raised.value)


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

    def interrupted(text: str) -> list[int]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_pieces(encoding(), interrupted)("x")


def test_a_million_spaces_before_a_letter_are_counted() -> None:
    made = encoding()
    text = "a" + " " * 1_000_000 + "b"
    with pytest.raises(BaseException, match="StackOverflow"):
        made.encode_ordinary(text)
    # All spaces but the last are a piece, of the largest tokens; the last goes with the letter.
    assert len(in_pieces(made, made.encode_ordinary)(text)) == 1 + 249_999 + 2 + 2
