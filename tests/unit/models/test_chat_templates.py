"""Chat templates that lose a part of a prompt, write today's date, or take variables."""

from __future__ import annotations

from datetime import date

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from needlework.errors import UserError
from needlework.models.local_models import (
    DATE,
    encode,
    regime,
    template_check,
    template_date,
    with_fixed_date,
)

TURNS = "{% for m in messages %}<|turn|>{{ m['role'] }}\n{{ m['content'] }}<|end|>\n{% endfor %}"
PROMPT, SYSTEM = "  When was the tower\nbuilt? ", "Answer in one word."


def loaded(template: str) -> PreTrainedTokenizerFast:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator([""], trainers.BpeTrainer(vocab_size=300, initial_alphabet=letters))
    return PreTrainedTokenizerFast(tokenizer_object=made, chat_template=template)


def entry(**own) -> dict:
    usual = {"model": "m", "name": "a/model", "chat": True, "answer_prefix": None, "system": SYSTEM}
    return {**usual, "template": {}, **own}


def sent(jinja: str, **own) -> str:
    tokenizer = loaded(jinja)
    with template_check("models.m", "a/model"):
        return tokenizer.decode(encode(tokenizer, PROMPT, entry(**own), None))


@pytest.mark.parametrize("content", ["m['content']", "m['content'] | trim", "m.content.strip()"])
def test_templates_that_keep_the_texts_are_quiet(content):
    text = sent(TURNS.replace("m['content']", content))
    assert PROMPT.strip() in text and SYSTEM in text


PARTS = "{% for p in m['content'] %}{{ p.text }}{% endfor %}"


@pytest.mark.parametrize(
    ("template", "lost", "own"),
    [
        (
            TURNS.replace("in messages", "in messages if m['role'] != 'system'"),
            "the system text",
            {},
        ),
        (TURNS.replace("{{ m['content'] }}", PARTS), "the prompt", {}),
        (TURNS.replace("m['content']", "m['content'][:9]"), "the prompt", {}),
        ("Hello", "the prompt", {}),
        ("Hello", "the prompt", {"answer_prefix": "Well,"}),
    ],
)
def test_a_template_that_loses_a_text_is_refused(template, lost, own):
    with pytest.raises(UserError, match=f"models.m: the chat template of a/model loses {lost}"):
        sent(template, **own)


def test_variables_reach_the_template_and_the_identity():
    unset = "{% if enable_thinking is defined and not enable_thinking %}<no thoughts>{% endif %}"
    assert "<no thoughts>" not in sent(TURNS + unset)
    given = {"enable_thinking": False}
    assert sent(TURNS + unset, template=given).endswith("<no thoughts>")
    assert "template" not in regime(entry())
    assert regime(entry(template=given))["template"] == given


DATED = "Today is {{ strftime_now('%d %B %Y, %H:%M') }}.\n" + TURNS


def test_a_templates_date_is_fixed():
    dates = {DATE: {}, "2025-02-01": {"date": "2025-02-01"}}
    for day, own in dates.items():
        said = f"{date.fromisoformat(day):%d %B %Y}"
        assert sent(DATED, template=own).startswith(f"Today is {said}, 00:00.")
        assert template_date(entry(template=own), DATED) == day
    assert template_date(entry(), TURNS) == ""
    assert template_date(entry(template={"date_string": "x"}), DATED) == ""


def test_the_date_is_written_into_the_template():
    jinja = '{% if strftime_now is defined %}{{ strftime_now("%d %b %Y") }}{% endif %}'
    assert "{{ '01 Jan 2026' }}" in with_fixed_date(entry(), jinja)
    with pytest.raises(UserError, match="cannot be fixed"):
        with_fixed_date(entry(), "{{ strftime_now(format) }}")


def test_padding_and_truncation_of_a_file_are_ignored(tmp_path):
    from needlework.prompts.tokenizers import load_tokenizer

    tokenizer = loaded(TURNS)
    inner = tokenizer.backend_tokenizer
    inner.enable_padding(length=512, pad_id=0, pad_token="a")
    inner.enable_truncation(512)
    tokenizer.save_pretrained(tmp_path)
    read = load_tokenizer("x", {"kind": "huggingface", "name": str(tmp_path)})
    text = "The tower was built. " * 100
    assert read.proof is not None and read.count(text) == read.proof.within(text) == len(text)
    assert read.count("a") == 1
