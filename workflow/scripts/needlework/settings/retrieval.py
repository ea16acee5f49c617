"""How distractors are found."""

from __future__ import annotations

from typing import Annotated, Literal

from needlework.settings.base import PathText, Settings, Text, by, key, tagged


class Retrieval(Settings):
    """How distractors are found."""

    embedder: Text = key("ngram")
    """The embedder, by its name under `embedders`."""
    top: int = key(300, ge=1, le=100_000)
    """The number of distractors for each question and language (MLNeedle, appendix A)."""
    similarity: bool = key(False, affects="scores")
    """Add a column `similarity` to the scores of benchmarks that search for distractors: the mean
    inner product of the needle's vector and the vectors of the prompt's distractors. This embeds all
    needles and distractors once more."""
    device: Literal["cpu", "gpu"] = key("cpu", affects="speed")
    """Where the nearest passages are searched. With `gpu`, each search takes a GPU and needs the
    package faiss-gpu instead of faiss-cpu; `--use-conda` installs it from `envs/retrieval-gpu.yaml`.
    Changes no result."""


class NgramEmbedder(Settings):
    """Hashed character n-grams; needs no download."""

    kind: Literal["ngram"]


class SentenceTransformersEmbedder(Settings):
    """A sentence-transformers model."""

    kind: Literal["sentence-transformers"]
    name: PathText
    """Its name on the hub, or a local folder."""
    revision: Text | None = key(None)
    """The commit on the hub."""
    device: Text = key("auto", affects="speed")
    """`auto` takes a GPU if there is one; with `cpu` the job asks for no GPU, and for more cores."""


Embedder = Annotated[
    Annotated[NgramEmbedder, tagged("ngram")]
    | Annotated[SentenceTransformersEmbedder, tagged("sentence-transformers")],
    by("kind"),
]
