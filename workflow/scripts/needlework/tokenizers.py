"""One protocol over several tokenizers: how many tokens a text has, without special tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from needlework.errors import UserError, not_installed, reason

# A word is a run without white space, or one character of a script that is written without spaces.
_WORD = re.compile(
    r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]"
    r"|[^\s\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]+"
)


@dataclass(frozen=True)
class Tokenizer:
    """Counts tokens. `name` is the tokenizer's key in the configuration."""

    name: str
    count: Callable[[str], int]


def word_starts(text: str) -> list[int]:
    """Where each word of `text` begins, in characters."""
    return [match.start() for match in _WORD.finditer(text)]


def load_tokenizer(name: str, config: Mapping[str, str]) -> Tokenizer:
    """The tokenizer that the configuration calls `name`.

    `config["kind"]` is one of words, characters, tiktoken (`encoding`), mistral-common (`version`)
    and huggingface (`name`, a hub name or a local folder, and `revision`). Raises UserError where
    it cannot be loaded.
    """
    try:
        count = _KINDS[config["kind"]](config)
    except ImportError as error:
        raise not_installed(f"tokenizers.{name}", error) from None
    except Exception as error:  # each library has its own; none of them is the user's to know
        raise UserError(
            f"tokenizers.{name} ({_describe(config)}) cannot be loaded: {reason(error)}. "
            f"{_REMEDIES[config['kind']]}"
        ) from None
    return Tokenizer(name, count)


def _words(config: Mapping[str, str]) -> Callable[[str], int]:
    return lambda text: sum(1 for _ in _WORD.finditer(text))


def _characters(config: Mapping[str, str]) -> Callable[[str], int]:
    return len


def _tiktoken(config: Mapping[str, str]) -> Callable[[str], int]:
    import tiktoken

    # `encode_ordinary` reads special tokens in the text as plain text: the text is untrusted.
    encode = tiktoken.get_encoding(config["encoding"]).encode_ordinary
    return lambda text: len(encode(text))


def _mistral_common(config: Mapping[str, str]) -> Callable[[str], int]:
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    if config["version"] == "tekken":
        loaded = MistralTokenizer.v3(is_tekken=True)
    else:
        loaded = getattr(MistralTokenizer, config["version"])()
    encode = loaded.instruct_tokenizer.tokenizer.encode
    return lambda text: len(encode(text, bos=False, eos=False))


def _huggingface(config: Mapping[str, str]) -> Callable[[str], int]:
    from transformers import AutoTokenizer

    revision = None if Path(config["name"]).is_dir() else config.get("revision")
    loaded = AutoTokenizer.from_pretrained(
        config["name"], revision=revision, trust_remote_code=config.get("trust_remote_code", False)
    )
    # Longer texts than the model's context are wanted here; the warning is not.
    loaded.model_max_length = int(1e30)
    if config.get("ignore_merges") is not None:
        loaded.backend_tokenizer.model.ignore_merges = config["ignore_merges"]
    return lambda text: len(loaded.encode(text, add_special_tokens=False))


_KINDS: dict[str, Callable[[Mapping[str, str]], Callable[[str], int]]] = {
    "words": _words,
    "characters": _characters,
    "tiktoken": _tiktoken,
    "mistral-common": _mistral_common,
    "huggingface": _huggingface,
}

# What each kind imports.
PACKAGES: dict[str, list[str]] = {
    "words": [],
    "characters": [],
    "tiktoken": ["tiktoken"],
    "mistral-common": ["mistral_common", "sentencepiece"],
    "huggingface": ["transformers"],
}

_REMEDIES = {
    "words": "",
    "characters": "",
    "tiktoken": "Check `encoding`; without internet, set TIKTOKEN_CACHE_DIR to a folder that holds it.",
    "mistral-common": "Check `version`: v1, v2, v3, v7 or tekken.",
    "huggingface": "Check `name` and `revision`; without internet, set `name` to a local folder; for a "
    "gated model, accept its licence and set HF_TOKEN.",
}


def _describe(config: Mapping[str, str]) -> str:
    return ", ".join(str(value) for value in config.values() if value)
