"""Texts to unit vectors: any sentence-transformers model, or hashed character n-grams.

The vectors are fixed-point numbers, so that an inner product of two in float64 is exact: the scores
of a search depend neither on the order of summation nor on the machine.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from needlework.data.packaged import is_packaged, local_name
from needlework.errors import UserError, not_installed, reason
from needlework.given import given

if TYPE_CHECKING:
    from needlework.settings import retrieval as settings

# Components are multiples of this. So products and partial sums are multiples of 2**-52, and sums stay
# below 2 for unit vectors: float64 holds them exactly.
GRID = 2.0**-26


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        ...

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of shape (n, dimensions), float32, of length 1 within 1e-6; zero for an empty text.

        A neural model's last bits may depend on which texts are encoded together.
        """
        ...


def load_embedder(name: str, config: Mapping[str, object], threads: int = 1) -> Embedder:
    """The embedder that the configuration calls `name`, from its entry.

    `threads` changes the speed, never the result. Raises UserError if the model cannot be loaded.
    """
    entry: settings.Embedder = given({"revision": None, "device": "auto", **config})
    if entry.kind == "ngram":
        return NgramHasher()
    model = entry.name
    if is_packaged(model):
        model = local_name(model, f"embedders.{name}.name")
    try:
        return SentenceTransformerEmbedder(model, entry.revision, entry.device, threads)
    except ImportError as error:
        raise not_installed(f"embedders.{name}", error) from None
    except Exception as error:  # the libraries below have many; none of them is the user's to know
        raise UserError(
            f"embedders.{name}: the model {entry.name!r} cannot be loaded: {reason(error)}. Check "
            "`name` and `revision`; without internet, set `name` to a local folder, or HF_HOME to a cache "
            "that holds the model and HF_HUB_OFFLINE=1."
        ) from None


def _on_grid(units: np.ndarray) -> np.ndarray:
    """float64 components in [-1, 1] as float32 multiples of GRID (float32's own spacing is no finer
    than GRID above 1/4, and a multiple of it)."""
    return (np.rint(units / GRID) * GRID).astype(np.float32)


# Texts that a neural model embeds at once.
_BATCH = 64


@dataclass(frozen=True)
class NgramHasher:
    """Signed hashing of each word's character n-grams. A space stands before and after the word.

    It needs no download and works in every script; in scripts without spaces, a clause counts as a word. An
    n-gram that occurs t times has the weight sqrt(t). The vectors are the same to the bit on every machine:
    they need only integer arithmetic, one division and one square root (both correctly rounded).
    """

    dimensions: int = 1024
    n: Sequence[int] = (2, 4)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        words = [" ".join(unicodedata.normalize("NFKC", text).casefold().split()) for text in texts]
        padded = [f" {text} " if text else "" for text in words]
        codes = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), "<u4")
        owner = np.repeat(np.arange(len(padded)), [len(text) for text in padded])
        space = codes == ord(" ")
        codes = codes.astype(np.uint64)

        counts = np.zeros(len(texts) * self.dimensions)
        for n in range(self.n[0], self.n[1] + 1):
            starts = max(0, len(codes) - n + 1)
            # Within one text and within one word: a space only at the ends.
            whole = owner[:starts] == owner[n - 1 : n - 1 + starts]
            for i in range(1, n - 1):
                whole &= ~space[i : i + starts]
            hashes = _hash([codes[i : i + starts][whole] for i in range(n)])
            buckets = (hashes % np.uint64(self.dimensions)).astype(np.int64)
            signs = 1.0 - 2.0 * (hashes >> np.uint64(63))
            places = owner[:starts][whole] * self.dimensions + buckets
            counts += np.bincount(places, signs, minlength=len(counts))

        table = counts.reshape(len(texts), self.dimensions)
        totals = np.maximum(np.abs(table).sum(axis=1, keepdims=True), 1.0)
        return _on_grid(np.sign(table) * np.sqrt(np.abs(table) / totals))


def _hash(columns: Sequence[np.ndarray]) -> np.ndarray:
    """A 64-bit hash of each row: FNV-1a over code points, then a final mix (all modulo 2**64)."""
    hashes = np.full(len(columns[0]), 0xCBF29CE484222325, dtype=np.uint64)
    for column in columns:
        hashes = (hashes ^ column) * np.uint64(0x100000001B3)
    hashes = (hashes ^ (hashes >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return hashes ^ (hashes >> np.uint64(29))


class SentenceTransformerEmbedder:
    """A sentence-transformers model in float32. A text beyond its own limit is cut, as in training.

    If `device` is "auto", a GPU is used if there is one. On a CPU, each batch is computed by one thread, and
    `threads` batches at a time: how matrix products are split among threads changes their last bits.
    """

    def __init__(
        self,
        name: str,
        revision: str | None = None,
        device: str = "auto",
        threads: int = 1,
    ) -> None:
        from sentence_transformers import SentenceTransformer

        self._model = SentenceTransformer(
            name,
            revision=None if Path(name).is_dir() else revision,
            device=None if device == "auto" else device,
            trust_remote_code=False,
            model_kwargs={"dtype": "float32"},
        ).eval()
        self._threads = threads if self._model.device.type == "cpu" else 1
        self.dimensions = int(self._model.get_embedding_dimension() or 0)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        import torch
        from sentence_transformers.util import batch_to_device

        def vectors(features: dict[str, Any]) -> np.ndarray:
            with torch.inference_mode():
                output = self._model(batch_to_device(features, self._model.device))
            return output["sentence_embedding"].double().cpu().numpy()

        # Texts of like length share a batch, so that little of it is padding.
        order = np.argsort([-len(text) for text in texts], kind="stable")
        prompt = self._model.prompts.get(self._model.default_prompt_name or "")
        batches = [
            self._model.preprocess([texts[i] for i in order[at : at + _BATCH]], prompt=prompt)
            for at in range(0, len(texts), _BATCH)
        ]
        raw = np.zeros((len(texts), self.dimensions))
        intra_batch_threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with ThreadPoolExecutor(self._threads) as pool:
                for number, part in enumerate(pool.map(vectors, batches)):
                    at = number * _BATCH
                    raw[order[at : at + _BATCH]] = part
        finally:
            torch.set_num_threads(intra_batch_threads)
        lengths = np.linalg.norm(raw, axis=1, keepdims=True)
        return _on_grid(raw / np.where(lengths > 0, lengths, 1.0))
