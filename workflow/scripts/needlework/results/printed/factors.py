"""What a benchmark's prompts hold constant, and what varies with the factor that is asked about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from needlework.prompts.spans import Documents, span_text
from needlework.records import read_table

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("benchmark", "prompts", "tokens_vary", "needle_characters", "needles_vary", "overlap")
# Prompts of one nominal length whose tokens vary by less are of one length.
CONTROLLED = 0.02
_WORD = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]|[^\W\d_]+")


def factors(
    benchmark: str, instances: Sequence[str], corpora: Sequence[str], documents: Sequence[str]
) -> dict[str, Any]:
    """The prompts' number, the coefficients of variation of tokens within a nominal length and of needles'
    characters; the median needle; the mean share of the question's words that its needles have.
    """
    import pandas as pd

    texts = Documents.of(benchmark, corpora, documents)
    read = [read_table(path) for path in instances]
    # pandas would make floats of the ends of spans.
    rows = pd.concat(
        [
            part.drop_columns("prompt").to_pandas().assign(prompt=part["prompt"].to_pylist())
            for part in read
        ],
        ignore_index=True,
    )
    nominal = "n_documents" if "n_documents" in rows else "length"
    asked = rows[rows[nominal].fillna(0) > 0]
    groups = asked.groupby(["task", nominal] if nominal != "length" else [nominal])["n_tokens"]
    needles, overlaps = [], []
    for prompt in asked["prompt"]:
        own = [span_text(span, texts) for span in prompt if span["role"] == "needle"]
        question = "".join(span_text(span, texts) for span in prompt if span["role"] == "question")
        words = set(_WORD.findall(question.casefold()))
        needles += [len(text) for text in own]
        if own and words:
            held = set(_WORD.findall(" ".join(own).casefold()))
            overlaps.append(len(words & held) / len(words))
    length = pd.Series(needles, dtype="float64")
    return {
        **{"benchmark": benchmark, "prompts": len(asked)},
        "tokens_vary": float((groups.std(ddof=0) / groups.mean()).mean()),
        "needle_characters": float(length.median()),
        "needles_vary": float(length.std(ddof=0) / length.mean()),
        "overlap": float(pd.Series(overlaps, dtype="float64").mean()),
    }


def table_of(found: pd.DataFrame) -> str:
    """A table of Markdown: what is controlled, and how much the rest varies."""
    lines = [
        "| benchmark | tokens within a length vary by | needle, characters | needles vary by | question's "
        "words in the needle |",
        "|---|---|---|---|---|",
    ]
    for row in found.itertuples():
        vary = f"{row.tokens_vary:.4f}"
        kind = "controlled" if row.tokens_vary < CONTROLLED else "not controlled"
        needle = ("-", "-", "-")
        if row.needle_characters == row.needle_characters:
            overlap = f"{row.overlap:.0%}" if row.overlap == row.overlap else "-"
            needle = (f"{row.needle_characters:.0f}", f"{row.needles_vary:.2f}", overlap)
        lines.append(f"| {row.benchmark} | {vary} ({kind}) | {' | '.join(needle)} |")
    return "\n".join(lines)
