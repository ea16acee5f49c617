"""The paper's Table 4: how many tokens each language's book has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from needlework.benchmarks.oneruler.hooks import SETUP, by_articles
from needlework.results import cells
from needlework.results.context import Context

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("context_lang", "tokenizer", "source", "value", "published", "comparison")
# The first is the encoding that the caption names; the second gives 24 of its 26 numbers.
ENCODINGS = ("o200k_base", "cl100k_base")


def tokens(rows: pd.DataFrame, context: Context) -> pd.DataFrame:
    """The tokens of each language's book in each tokenizer (`value`), beside the paper's.

    A count has no interval: it equals the paper's or differs.
    """
    encodings = context.run.get("encodings", {})
    import pandas as pd

    setup = {"data": context.run.get("setup", {}).get("data")}
    made = []
    for row in rows.to_dict("records"):
        found = context.find("table4", row["context_lang"], "tokens")
        why = cells.differences(setup, {"data": SETUP["data"]})
        encoding = encodings.get(row["tokenizer"], row["tokenizer"])
        if encoding not in ENCODINGS:
            why += cells.differences({"tokenizer": encoding}, {"tokenizer": ENCODINGS[0]})
        if found is None:
            verdict = "cannot tell: no published number"
        elif why:
            verdict = f"cannot tell: {'; '.join(why)}"
        else:
            verdict = "equals" if row["n_tokens"] == found.value else "differs"
        made.append(
            {name: row[name] for name in ("context_lang", "tokenizer")}
            | {"source": "ours", "value": row["n_tokens"], "comparison": verdict}
            | {"published": found and found.value}
        )
    data = pd.DataFrame(made, columns=COLUMNS).astype({"published": "Int64"})
    places = {lang: i for i, lang in enumerate(by_articles(data["context_lang"], context))}
    return data.sort_values("context_lang", key=lambda c: c.map(places), kind="stable")
