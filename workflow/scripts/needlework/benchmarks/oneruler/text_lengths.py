"""How many tokens the same text is in several tokenizers (appendix D)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from needlework.benchmarks.oneruler import paper
from needlework.benchmarks.oneruler.factors import NIAH
from needlework.benchmarks.oneruler.rows import by_articles
from needlework.results import published as publications
from needlework.results.context import Context

if TYPE_CHECKING:
    import pandas as pd


def text_lengths(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """How many tokens the longest text of each language is in every tokenizer (`n_tokens`; Figure 24).

    `rows` has the same prompts in several tokenizers; those of NIAH are taken where there are any.
    `length` is their length in the tokenizer `measured_in`. The interval is over prompts. The paper's
    numbers stand beside texts of its length, data and measuring tokenizer alone.
    """
    import pandas as pd

    from needlework.results import cells, stats

    same = rows[rows["instruction_lang"] == rows["context_lang"]]
    needles = same[same["task"].isin(list(NIAH))]
    same = needles if len(needles) else same
    same = same[same["length"] == same["length"].max()]
    encodings = run.run.get("encodings", {})
    measured_in = run.run.get("text_tokenizer", "")
    made = []
    for (lang, tokenizer), part in same.groupby(["context_lang", "tokenizer"]):
        length, n_tokens = int(part["length"].iloc[0]), float(part["n_tokens"].mean())
        seed = ("oneruler", "n_tokens", lang, tokenizer)
        low, high = stats.bootstrap_interval(
            part["n_tokens"], part["example_id"], seed=seed, draws=1000
        )
        found = run.find("figure24", str(lang), encodings.get(tokenizer, ""))
        value = None if found is None else found.value
        ours = {
            "data": run.run.get("setup", {}).get("data"),
            "length": length,
            "measuring tokenizer": encodings.get(measured_in, measured_in),
        }
        why = "; ".join(cells.differences(ours, paper.TEXT)) or None
        made.append(
            {"context_lang": lang, "tokenizer": tokenizer}
            | {"measured_in": measured_in, "length": length}
            | {"n_tokens": n_tokens, "n": len(part)}
            | {"n_exhausted": int(part["exhausted"].sum())}
            | {"ci_low": low, "ci_high": high}
            | {"published": None if why else value, "published_cell_n_tokens": found and found.cell}
            | {"comparison": publications.compare(n_tokens, low, high, value, why)}
        )
    columns = [
        *("context_lang", "tokenizer", "measured_in", "length", "n_tokens", "n", "n_exhausted"),
        *("ci_low", "ci_high", "published"),
        *("published_cell_n_tokens", "comparison"),
    ]
    data = pd.DataFrame(made, columns=columns)
    places = {lang: i for i, lang in enumerate(by_articles(data["context_lang"], run))}
    return data.sort_values("context_lang", key=lambda c: c.map(places), kind="stable")
