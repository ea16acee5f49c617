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


@pytest.mark.parametrize(
    ("template", "lost"),
    [
        (TURNS.replace("in messages", "in messages if m['role'] != 'system'"), "the system text"),
        (
            TURNS.replace(
                "{{ m['content'] }}", "{% for p in m['content'] %}{{ p.text }}{% endfor %}"
            ),
            "the prompt",
        ),
        (TURNS.replace("m['content']", "m['content'][:9]"), "the prompt"),
        ("Hello", "the prompt"),
    ],
)
def test_a_template_that_loses_a_text_is_refused(template, lost):
    with pytest.raises(UserError, match=f"models.m: the chat template of a/model loses {lost}"):
        sent(template)


def test_a_lost_prompt_is_refused_with_an_answer_begun():
    with pytest.raises(UserError, match="loses the prompt"):
        sent("Hello", answer_prefix="Well,")


def test_variables_reach_the_template():
    template = (
        TURNS
        + "{% if enable_thinking is defined and not enable_thinking %}<no thoughts>{% endif %}"
    )
    assert "<no thoughts>" not in sent(template)
    assert sent(template, template={"enable_thinking": False}).endswith("<no thoughts>")


def test_variables_are_part_of_the_models_identity():
    assert "template" not in regime(entry())
    assert regime(entry(template={"date": "2025-02-01"}))["template"] == {"date": "2025-02-01"}


DATED = "Today is {{ strftime_now('%d %B %Y, %H:%M') }}.\n" + TURNS


def test_a_templates_date_is_fixed():
    day = date.fromisoformat(DATE)
    assert sent(DATED).startswith(f"Today is {day:%d %B %Y}, 00:00.")
    assert sent(DATED, template={"date": "2025-02-01"}).startswith(
        "Today is 01 February 2025, 00:00."
    )


@pytest.mark.parametrize(
    ("jinja", "own", "said"),
    [
        (DATED, {}, DATE),
        (DATED, {"date": "2025-02-01"}, "2025-02-01"),
        (TURNS, {}, ""),
        (DATED, {"date_string": "x"}, ""),
    ],
)
def test_a_fixed_date_is_told(jinja, own, said):
    assert template_date(entry(template=own), jinja) == said


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
