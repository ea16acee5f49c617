"""The similarity of a prompt's needle and distractors, by the run's embedder."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from needlework.prompts.spans import Documents
from needlework.retrieval.embedders import Embedder

SIMILARITIES = pa.schema([("instance_id", pa.string()), ("similarity", pa.float64())])


def similarities(instances: pa.Table, documents: Documents, embedder: Embedder) -> pa.Table:
    """SIMILARITIES of `instances` (instance_id and prompt), in their order.

    `similarity` is the mean inner product of the needle's vector with the vectors of the prompt's
    distractors. A distractor's vector is that of the whole document that the prompt quotes. Null if a prompt
    has no needle or no distractor.
    """
    sources = [
        (
            {span["source"] for span in prompt if span["role"] == "needle" and span["source"]},
            {span["source"] for span in prompt if span["role"] == "distractor"},
        )
        for prompt in instances["prompt"].to_pylist()
    ]
    vectors = _vectors(
        (name for both in sources for names in both for name in names), documents, embedder
    )
    found = [
        float(np.mean([vectors[a] @ vectors[b] for a in sorted(needles) for b in sorted(others)]))
        if needles and others
        else None
        for needles, others in sources
    ]
    return pa.table([instances["instance_id"], pa.array(found, pa.float64())], schema=SIMILARITIES)


def _vectors(
    names: Iterable[str], documents: Documents, embedder: Embedder
) -> dict[str, np.ndarray]:
    """A vector, in float64, of each named document."""
    wanted = sorted(set(names))
    if not wanted:
        return {}
    vectors = embedder.encode([documents[name] for name in wanted])
    return {name: np.asarray(v, np.float64) for name, v in zip(wanted, vectors, strict=True)}
