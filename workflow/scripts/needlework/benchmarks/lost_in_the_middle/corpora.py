"""The corpora that Lost in the Middle alone uses."""

from __future__ import annotations

from needlework.data.corpora.corpus import Corpus

HERE, SOURCE = "benchmarks.lost_in_the_middle", "lost-in-the-middle"
READER, TITLED = f"{HERE}.corpus", "data.corpora.titled"

CORPORA = {
    "nq_open": Corpus(READER, SOURCE, "oracle", serves=("questions",)),
    # The same questions among each other's gold passages: all in one small file.
    "nq_gold": Corpus(READER, SOURCE, "oracle", serves=("questions",)),
    "nq_gold_passages": Corpus(TITLED, SOURCE, "oracle"),
    "nq_open_released": Corpus(READER, SOURCE, "documents"),
    "nq_open_released_passages": Corpus(READER, SOURCE, "documents"),
    "nq_open_retrieved": Corpus(READER, SOURCE, "retrieval"),
    "nq_open_retrieved_passages": Corpus(READER, SOURCE, "retrieval"),
    "wikipedia": Corpus(f"{HERE}.wikipedia", "wikipedia"),
    **{f"key_value_{n}": Corpus(READER, SOURCE, f"key_value_{n}") for n in (75, 140, 300)},
}
