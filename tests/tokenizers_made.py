"""Small tokenizers of Hugging Face's kinds, trained on the sample, with the pre-tokenizers of real ones."""

from __future__ import annotations

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

ROOT = Path(__file__).resolve().parents[1]

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
    """The sample's texts."""
    files = [*ROOT.glob("resources/sample/*.json"), *ROOT.glob("resources/sample/oneruler/*/book.txt")]
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
    trainer = trainers.BpeTrainer(
        vocab_size=2000, initial_alphabet=alphabet, show_progress=False
    )
    return made, trainer


def _llama_2() -> tuple[Tokenizer, trainers.Trainer]:
    """Merges whole texts: no pre-tokenizer, spaces as a letter of their own, bytes for what is unknown."""
    made = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    made.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
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
KINDS = list(_KINDS)
