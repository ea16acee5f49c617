"""The paper's Table 4: how many tokens each language's book has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from needlework.benchmarks.oneruler.paper import SETUP
from needlework.benchmarks.oneruler.rows import by_articles
from needlework.data.language_names import language_name
from needlework.factor import Factor
from needlework.results.context import Context
from needlework.results.result import Grid, Number, table

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "context_lang",
    "tokenizer",
    "source",
    "value",
    "published",
    "published_cell",
    "comparison",
)
# The first is the encoding that the caption names; the second gives 24 of its 26 numbers.
ENCODINGS = ("o200k_base", "cl100k_base")


@table(
    "Tokens of the books",
    Grid(
        rows=(Factor("context_lang", label="Language", format=language_name),),
        columns=(Factor("tokenizer", label="Tokenizer"),),
        number=Number(digits=0),
        note="Tokens of each book.",
        empty="no books",
    ),
    needs="books",
    when=("books",),
)
def table4(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """Whole files, in each tokenizer of the run; no model is needed. The paper names tiktoken's
    o200k, but 24 of its 26 numbers are those of cl100k_base, so both are compared.
    """
    # A count has no interval: it equals the paper's or differs.
    import pandas as pd

    from needlework.results import cells, published

    encodings = run.run.get("encodings", {})

    setup = {"data": run.run.get("setup", {}).get("data")}
    made = []
    for row in rows.to_dict("records"):
        found = run.find("table4", row["context_lang"], "tokens")
        why = cells.differences(setup, {"data": SETUP["data"]})
        encoding = encodings.get(row["tokenizer"], row["tokenizer"])
        if encoding not in ENCODINGS:
            why += cells.differences({"tokenizer": encoding}, {"tokenizer": ENCODINGS[0]})
        if found is None:
            verdict = published.UNPUBLISHED
        elif why:
            verdict = f"cannot tell: {'; '.join(why)}"
        else:
            verdict = "equals" if row["n_tokens"] == found.value else "differs"
        made.append(
            {name: row[name] for name in ("context_lang", "tokenizer")}
            | {"source": "ours", "value": row["n_tokens"], "comparison": verdict}
            | {"published": found and found.value, "published_cell": found and found.cell}
        )
    data = pd.DataFrame(made, columns=COLUMNS).astype({"published": "Int64"})
    places = {lang: i for i, lang in enumerate(by_articles(data["context_lang"], run))}
    return data.sort_values("context_lang", key=lambda c: c.map(places), kind="stable")
