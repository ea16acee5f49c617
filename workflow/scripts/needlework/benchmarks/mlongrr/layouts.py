"""How mLongRR's tables are laid out, and what the table of its prompts counts."""

from __future__ import annotations

from needlework.results.prompts import PromptTable

PROMPTS = PromptTable(
    by=("haystack", "lang", "template", "task", "n_needles", "question", "length"),
    counts=(
        ("prompts", "n_tokens", "size"),
        ("tokens_mean", "n_tokens", "mean"),
        ("tokens_max", "n_tokens", "max"),
        ("fill", "fill", "mean"),
        ("off_least", "off", "min"),
        ("off_most", "off", "max"),
        ("exhausted", "exhausted", "sum"),
    ),
    slice_names=("lang", ""),
    # The share of the length that prompt and room for the answer take together; by how many percent points
    # a needle stands deeper than its depth.
    computed={"fill": "(n_tokens + max_new_tokens) / length", "off": "real_depth - depth"},
    digits={"fill": 4, "off_least": 1, "off_most": 1},
    kept=("exhausted", "long_numbers"),
)
