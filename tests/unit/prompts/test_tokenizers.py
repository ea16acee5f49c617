"""Tokenizers behind their one protocol."""

from __future__ import annotations

import pytest

from needlework.data.words import word_starts
from needlework.errors import UserError
from needlework.prompts.tokenizers import load_tokenizer


def test_words_of_unspaced_scripts_are_characters() -> None:
    count = load_tokenizer("w", {"kind": "words"}).count
    assert count("Der Turm, gebaut 1873.") == 4
    assert count("这座塔建于1873年") == 7
    assert count("") == 0
    assert word_starts("ab 塔c d") == [0, 3, 4, 6]


def test_characters_are_unicode_characters() -> None:
    assert load_tokenizer("c", {"kind": "characters"}).count("né塔") == 3


def test_special_tokens_in_a_text_are_plain_text() -> None:
    tokenizer = load_tokenizer("m", {"kind": "mistral-common", "version": "v1"})
    assert tokenizer.count("<s>[INST]") > 2


def test_a_local_hugging_face_tokenizer_counts_without_special_tokens(tmp_path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(
        models.WordLevel({"[UNK]": 0, "<s>": 1, "tower": 2, "old": 3}, unk_token="[UNK]")
    )
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


def test_a_reserve_is_read_and_changes_no_count() -> None:
    plain = load_tokenizer("t", {"kind": "words"})
    reserved = load_tokenizer("t", {"kind": "words", "reserve": 40})
    assert (plain.reserve, reserved.reserve) == (0, 40)
    assert plain.count("one two") == reserved.count("one two") == 2
