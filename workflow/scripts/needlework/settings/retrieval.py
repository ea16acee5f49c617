"""How distractors are found."""

from __future__ import annotations

from typing import Annotated, Literal

from needlework.settings.base import (
    PathText,
    Settings,
    Text,
    by,
    key,
    tagged,
)


class Retrieval(Settings):
    """How distractors are found."""

    embedder: Text = key("The embedder, by its name under `embedders`.", "ngram")
    top: int = key(
        "The number of distractors for each question and language (MLNeedle, appendix A).",
        300,
        ge=1,
        le=100_000,
    )
    similarity: bool = key(
        "Add a column `similarity` to the scores of benchmarks that search for distractors: the "
        "mean inner product of the needle's vector and the vectors of the prompt's distractors. "
        "This embeds all needles and distractors once more.",
        False,
        affects="scores",
    )
    device: Literal["cpu", "gpu"] = key(
        "Where the nearest passages are searched. With `gpu`, each search takes a GPU and needs "
        "the package faiss-gpu instead of faiss-cpu; `--use-conda` installs it from "
        "`envs/retrieval-gpu.yaml`. Changes no result.",
        "cpu",
        affects="speed",
    )


class NgramEmbedder(Settings):
    """Hashed character n-grams; needs no download."""

    kind: Literal["ngram"] = key("Hashed character n-grams; needs no download.")


class SentenceTransformersEmbedder(Settings):
    """A sentence-transformers model."""

    kind: Literal["sentence-transformers"] = key("A sentence-transformers model.")
    name: PathText = key("Its name on the hub, or a local folder.")
    revision: Text | None = key("The commit on the hub.", None)
    device: Text = key(
        "`auto` takes a GPU if there is one; with `cpu` the job asks for no GPU, and for more "
        "cores.",
        "auto",
        affects="speed",
    )


Embedder = Annotated[
    Annotated[NgramEmbedder, tagged("ngram")]
    | Annotated[SentenceTransformersEmbedder, tagged("sentence-transformers")],
    by("kind"),
]
