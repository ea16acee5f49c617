"""MLNeedle's released scorer with its third clause: an answer also counts if it means almost the same.

That is a cosine of at least 0.95 between the embeddings of answer and reference (the released code takes
all-mpnet-base-v2). The paper does not mention it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from needlework.benchmarks.mlneedle import released as released_mlneedle
from needlework.entry import Entry
from needlework.retrieval.embedders import load_embedder

if TYPE_CHECKING:
    import numpy as np

THRESHOLD = 0.95


class Semantic:
    """The metric with one embedding model, an entry as under `embedders`.

    A text is encoded once. `prepare` encodes many at once, which is faster than one by one.
    """

    def __init__(self, model: Entry) -> None:
        self._model = model
        self._vectors: dict[str, np.ndarray] = {}

    def prepare(self, texts: Iterable[str]) -> None:
        """Encode what will be compared. Raises UserError where the model cannot be loaded."""
        new = [text for text in dict.fromkeys(texts) if text.strip() and text not in self._vectors]
        if new:
            embedder = load_embedder("benchmarks.mlneedle.semantic_model", self._model)
            self._vectors.update(zip(new, embedder.encode(new), strict=True))

    def score(
        self, prediction: str, translated: str | None, references: Iterable[str]
    ) -> tuple[float, str]:
        """The released scorer's verdict, or else "semantic:<text>:<i>" with value 1.0 where one is near."""
        references = list(references)
        value, verdict = released_mlneedle.score(prediction, translated, references)
        if value:
            return value, verdict
        texts = {"raw": prediction or "", "translated": translated or ""}
        self.prepare([*texts.values(), *references])
        for name, text in texts.items():
            for index, reference in enumerate(references):
                if self._near(text, reference):
                    return 1.0, f"semantic:{name}:{index}"
        return value, verdict

    def _near(self, text: str, reference: str) -> bool:
        if not (text.strip() and reference.strip()):
            return False
        return float(self._vectors[text] @ self._vectors[reference]) >= THRESHOLD
