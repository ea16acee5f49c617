"""What became of a model's answers, benchmark by benchmark, and which length it reaches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from needlework.models.accounts import UNANSWERED
from needlework.results.cards.card import Card
from needlework.results.context import Context

if TYPE_CHECKING:
    import pandas as pd

# Counts of requests and their answers; `decided`: answers whose language is known, of which `other_language`
# are in another than asked for; `with_needle`: those that could say "none" though there is a needle; lengths
# in tokens.
FACTS = (
    *("benchmark", "model", "n", "cut", "empty", "failed", "skipped"),
    *("said_none", "with_needle", "other_language", "decided", "claimed", "effective"),
)


def facts(
    benchmark: str, card: Card, rows: pd.DataFrame, run: Context, models: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """FACTS of each of these models that was asked anything; `rows` are the benchmark's scores."""
    none = card.said_none(rows, run) if card.said_none else None
    asked = card.asked_in(rows, run)
    lengths = card.lengths(rows, run) if card.lengths else {}
    keys = ["instance_id", "sample"]
    for model in models:
        mine = rows["model"] == model
        if not mine.any():
            continue
        once = rows[mine].drop_duplicates(keys)
        given = ~once["finish_reason"].isin(UNANSWERED)
        ended = once["finish_reason"].astype(str).value_counts()
        # Scores that were made by hand may lack these columns.
        empty = (once["outcome"].astype(str) == "empty").sum() if "outcome" in once else 0
        language = asked[once.index]
        said = once["answered_in"].astype(object) if "answered_in" in once else language.mask(given)
        known = given & said.notna() & language.notna()
        denied = none[mine].dropna() if none is not None else []
        claimed, effective = lengths.get(model, (None, None))
        yield {
            **{"benchmark": benchmark, "model": model, "n": len(once), "empty": int(empty)},
            **{"cut": int(ended.get("length", 0)), "failed": int(ended.get("error", 0))},
            **{"skipped": int(ended.get("skipped", 0)), "with_needle": len(denied)},
            **{"said_none": sum(map(bool, denied)), "decided": int(known.sum())},
            "other_language": int((said[known] != language[known]).sum()),
            **{"claimed": claimed, "effective": effective},
        }
