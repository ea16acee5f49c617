"""One protocol for several tokenizers: how many tokens a text has, without special tokens."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.data.packaged import local_name
from needlework.data.words import WORD, word_starts
from needlework.errors import UserError, not_installed, reason
from needlework.given import given
from needlework.prompts.openvino_runtime import genai

if TYPE_CHECKING:
    import tiktoken

    from needlework.prompts.counting.proofs import Proof
    from needlework.settings import tokenizers as settings

# Tokens of texts that tiktoken cannot split: at a run of a million spaces its stack is exhausted.


def in_pieces(
    encoding: tiktoken.Encoding, encode: Callable[[str], list[int]]
) -> Callable[[str], list[int]]:
    """`encode` for texts at which it would panic.

    Such a text is split by the same pattern and encoded in pieces.
    """

    def ids(text: str) -> list[int]:
        try:
            return encode(text)
        except BaseException as error:  # Rust's panics are no Exception
            if type(error).__name__ != "PanicException":
                raise
        # Half a character has no UTF-8; tiktoken takes U+FFFD for it.
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return [
            token
            for piece in _compiled(encoding._pat_str).finditer(whole)
            for token in encoding._encode_single_piece(piece[0])
        ]

    return ids


@cache
def _compiled(pattern: str) -> Any:
    """The pattern for the package `regex`, which tiktoken brings, and which needs no deep stack."""
    import regex

    return regex.compile(pattern)


logger = logging.getLogger(__name__)

# The folder that caches the token counts of documents, for all benchmarks, lengths and later runs. It may be
# deleted at any time.
TOKEN_SUMS = Path("token_sums")
# One of this number of prompts is tokenized whole to verify its sum, and the first few of each slice.
_SAMPLE, _FIRST = 100, 3


@dataclass(frozen=True)
class Tokenizer:
    """Counts tokens."""

    # The tokenizer's key in the configuration.
    name: str
    count: Callable[[str], int]
    # Where the tokenizer splits text, if that follows from its files. With it, prompts are counted from their
    # pieces (`needlework.prompts.counting`); a hundredth of them and the first few of a slice are tokenized
    # whole too.
    proof: Proof | None = None
    # The folder that caches the counts of documents.
    sums: Path | None = None
    # How many tokens of a prompt's length are left for chat templates and reasoning.
    reserve: int = 0

    def check(self, instance_id: str, text: str, n_tokens: int, place: int) -> None:
        """Raise UserError if the sum of a prompt's tokens is wrong; `place` is its index in the slice."""
        if self.proof is None:
            return
        # Instances are named by a digest, so a sample of the names is a random sample of the prompts.
        if place >= _FIRST and int(instance_id[:8], 16) % _SAMPLE:
            return
        counted = self.count(text)
        if counted != n_tokens:
            raise UserError(
                f"the prompt {instance_id} has {counted} tokens of tokenizers.{self.name}, but its pieces "
                f"add up to {n_tokens}: delete the folder {self.sums or TOKEN_SUMS} and run again; if that "
                "does not help, report it, with the tokenizer."
            )


def load_tokenizer(
    name: str, config: Mapping[str, object], sums: Path | None = None, *, whole: bool = False
) -> Tokenizer:
    """The tokenizer that the configuration calls `name`, from its entry.

    `sums` is the folder that caches counts; without it nothing is kept on disk. `whole` tokenizes every text
    whole. Raises UserError if it cannot be loaded.
    """
    entry: settings.Tokenizer = given({**_USUAL, **config})
    try:
        count, prove = _KINDS[entry.kind](entry)
        proof = None if whole else _proved(name, prove)
    except ImportError as error:
        raise not_installed(f"tokenizers.{name}", error) from None
    except Exception as error:  # each library has its own; none of them is the user's to know
        raise UserError(
            f"tokenizers.{name} ({_describe(config)}) cannot be loaded: {reason(error)}. "
            f"{_REMEDIES[entry.kind]}"
        ) from None
    return Tokenizer(name, count, proof, sums, entry.reserve)


def _proved(name: str, prove: Callable[[], Proof]) -> Proof | None:
    from needlework.prompts.counting.proofs import Unproven

    try:
        return prove()
    except Unproven as why:
        logger.info("The tokenizer %s has %s: whole prompts are tokenized.", name, why)
        return None


Loaded = tuple[Callable[[str], int], Callable[[], "Proof"]]


def _words(entry: settings.WordsTokenizer) -> Loaded:
    def prove() -> Proof:
        from needlework.prompts.counting import proofs

        return proofs.of_words(WORD.pattern, word_starts)

    return lambda text: sum(1 for _ in WORD.finditer(text)), prove


def _characters(entry: settings.CharactersTokenizer) -> Loaded:
    def prove() -> Proof:
        from needlework.prompts.counting import proofs

        return proofs.of_characters()

    return len, prove


def _tiktoken(entry: settings.TiktokenTokenizer) -> Loaded:
    import tiktoken

    encoding = tiktoken.get_encoding(entry.encoding)
    # `encode_ordinary` reads special tokens in the text as plain text: the text is untrusted.
    encode = in_pieces(encoding, encoding.encode_ordinary)

    def prove() -> Proof:
        from needlework.prompts.counting import proofs

        return proofs.of_tiktoken(encoding, encode)

    return lambda text: len(encode(text)), prove


def _mistral_common(entry: settings.MistralCommonTokenizer) -> Loaded:
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    if entry.version == "tekken":
        loaded = MistralTokenizer.v3(is_tekken=True)
    else:
        loaded = getattr(MistralTokenizer, entry.version)()
    tokenizer = loaded.instruct_tokenizer.tokenizer
    model = tokenizer._model  # type: ignore[attr-defined]  # of both of its classes
    is_sentencepiece = hasattr(model, "serialized_model_proto")

    def plain(text: str) -> list[int]:
        return tokenizer.encode(text, bos=False, eos=False)

    def prove() -> Proof:
        from needlework.prompts.counting import proofs

        if is_sentencepiece:
            return proofs.of_sentencepiece(model)
        return proofs.of_tiktoken(model, in_pieces(model, model.encode))

    encode = plain if is_sentencepiece else in_pieces(model, plain)
    return lambda text: len(encode(text)), prove


def _huggingface(entry: settings.HuggingfaceTokenizer) -> Loaded:
    from transformers import AutoTokenizer

    revision = None if Path(entry.name).is_dir() else entry.revision
    loaded = AutoTokenizer.from_pretrained(
        entry.name, revision=revision, trust_remote_code=entry.trust_remote_code
    )
    # Longer texts than the model's context are wanted here; the warning is not.
    loaded.model_max_length = int(1e30)
    if getattr(loaded, "is_fast", False):
        # Fine-tuning and calibration leave these in a tokenizer's file.
        loaded.backend_tokenizer.no_padding()
        loaded.backend_tokenizer.no_truncation()
    if entry.ignore_merges is not None:
        loaded.backend_tokenizer.model.ignore_merges = entry.ignore_merges

    def prove() -> Proof:
        from needlework.prompts.counting import proofs
        from needlework.prompts.counting.proofs import Unproven

        if not getattr(loaded, "is_fast", False):
            raise Unproven("code of its own")
        return proofs.of_huggingface(loaded.backend_tokenizer.to_str())

    return lambda text: len(loaded.encode(text, add_special_tokens=False)), prove


def _openvino(entry: settings.OpenvinoTokenizer) -> Loaded:
    loaded = genai().Tokenizer(local_name(entry.name, "the tokenizer"))

    def prove() -> Proof:
        from needlework.prompts.counting.proofs import Unproven

        raise Unproven("rules that OpenVINO does not tell")

    # Of an empty text it makes one token of padding.
    return (
        lambda text: (
            loaded.encode(text, add_special_tokens=False).input_ids.shape[1] if text else 0
        ),
        prove,
    )


# Keys that an entry may lack.
_USUAL = {"reserve": 0, "revision": None, "trust_remote_code": False, "ignore_merges": None}
_KINDS: dict[str, Callable[[Any], Loaded]] = {
    "words": _words,
    "characters": _characters,
    "tiktoken": _tiktoken,
    "mistral-common": _mistral_common,
    "huggingface": _huggingface,
    "openvino": _openvino,
}

# The packages that each kind imports.
PACKAGES: dict[str, list[str]] = {
    "words": [],
    "characters": [],
    "tiktoken": ["tiktoken"],
    "mistral-common": ["mistral_common", "sentencepiece"],
    "huggingface": ["transformers"],
    "openvino": ["openvino_genai"],
}

_REMEDIES = {
    "words": "",
    "characters": "",
    "tiktoken": "Check `encoding`; without internet, set TIKTOKEN_CACHE_DIR to a folder that holds it.",
    "mistral-common": "Check `version`: v1, v2, v3, v7 or tekken.",
    "huggingface": "Check `name` and `revision`; without internet, set `name` to a local folder; for a "
    "gated model, accept its licence and set HF_TOKEN.",
    "openvino": "Check `name`: a GGUF file or an OpenVINO folder.",
}


def _describe(config: Mapping[str, object]) -> str:
    return ", ".join(str(v) for key, v in config.items() if v and key != "reserve")
