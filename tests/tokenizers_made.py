"""Tokenizers of every kind: packaged ones, the mirror's encodings, and small ones of Hugging Face's kinds.

The last are trained on the sample, with the pre-tokenizers of real ones.
"""

from __future__ import annotations

import os
from pathlib import Path

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

from needlework.prompts.tokenizers import Tokenizer as Loaded
from needlework.prompts.tokenizers import load_tokenizer

ROOT = Path(__file__).resolve().parents[1]

PACKAGED = {
    "words": {"kind": "words"},
    "characters": {"kind": "characters"},
    "mistral-v1": {"kind": "mistral-common", "version": "v1"},
    "mistral-v3": {"kind": "mistral-common", "version": "v3"},
    "tekken": {"kind": "mistral-common", "version": "tekken"},
}
# Files of the mirror, and by which names tiktoken looks for them.
ENCODINGS = {
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
}

LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN_2 = LLAMA_3.replace("{1,3}", "")
DEEPSEEK = [
    r"\p{N}{1,3}",
    r"[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
]


def texts() -> list[str]:
    folder = ROOT / "resources/sample"
    files = [*folder.glob("*.json"), *folder.glob("oneruler/*/book.txt")]
    return [path.read_text(encoding="utf-8") for path in sorted(files)]


def save(kind: str, folder: Path) -> None:
    """Save a tokenizer of a kind of KINDS, as Hugging Face's library loads it."""
    made, trainer = _KINDS[kind]()
    made.train_from_iterator(texts(), trainer)
    made.add_special_tokens([AddedToken("<|end|>", normalized=False)])
    if kind == "llama-2":
        made.pre_tokenizer = None
    else:
        # As real ones have: it moves the tokens' offsets.
        made.post_processor = processors.ByteLevel(trim_offsets=True)
    PreTrainedTokenizerFast(tokenizer_object=made).save_pretrained(folder)


def _split(patterns: list[str]) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Sequence(
        [
            *(pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def _byte_level(
    pre_tokenizer: pre_tokenizers.PreTokenizer, normalizer: normalizers.Normalizer | None = None
) -> tuple[Tokenizer, trainers.Trainer]:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        made.normalizer = normalizer
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=2000, initial_alphabet=alphabet, show_progress=False)
    return made, trainer


def _llama_2() -> tuple[Tokenizer, trainers.Trainer]:
    """Merges whole texts: no pre-tokenizer, spaces as a letter of their own, bytes for what is unknown."""
    made = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    steps = [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    made.normalizer = normalizers.Sequence(steps)
    # Trained by words (a whole text would be learnt by heart), used without.
    made.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    tokens = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(
        vocab_size=1500, special_tokens=tokens, limit_alphabet=150, show_progress=False
    )
    return made, trainer


_KINDS = {
    "gpt-2": lambda: _byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "llama-3": lambda: _byte_level(_split([LLAMA_3])),
    "qwen-2": lambda: _byte_level(_split([QWEN_2]), normalizers.NFC()),
    "deepseek": lambda: _byte_level(_split(DEEPSEEK)),
    "llama-2": _llama_2,
}
NAMES = [*PACKAGED, *ENCODINGS, *_KINDS]


def load(name: str, folder: Path, mirror: Path | None) -> Loaded:
    """The tokenizer of a name of NAMES; its files lie in `folder`, which TIKTOKEN_CACHE_DIR is."""
    if name in PACKAGED:
        return load_tokenizer(name, PACKAGED[name])
    if name in ENCODINGS:
        assert mirror is not None
        (folder / ENCODINGS[name]).symlink_to(mirror / f"tokenizers/{name}.tiktoken")
        return load_tokenizer(name, {"kind": "tiktoken", "encoding": name})
    save(name, folder / name)
    return load_tokenizer(name, {"kind": "huggingface", "name": os.fspath(folder / name)})


# Of each kind that needs no model, with the mirror's encodings.
TOKENIZERS = {name: PACKAGED[name] for name in ("words", "characters", "mistral-v1", "tekken")}
TOKENIZERS["cl100k"] = {"kind": "tiktoken", "encoding": "cl100k_base"}


def tiktoken_cache(mirror, tmp_path, monkeypatch) -> None:
    """Give tiktoken the mirror's encodings under the names that it looks for."""
    link_encodings(mirror, tmp_path)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", os.fspath(tmp_path))


def link_encodings(mirror: Path, folder: Path) -> None:
    """The mirror's encodings in a folder, which TIKTOKEN_CACHE_DIR may be."""
    for name, cached in ENCODINGS.items():
        (folder / cached).symlink_to(mirror / f"tokenizers/{name}.tiktoken")
