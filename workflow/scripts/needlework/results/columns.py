"""The columns of numbers, by what they say.

Descriptions name them, so this needs the standard library alone.
"""

from __future__ import annotations

# What every cell of every table says beside its labels.
MEASURES = (
    "value",
    "n",
    "n_questions",
    "ci_low",
    "ci_high",
    "se_independent",
    "ci_low_independent",
    "ci_high_independent",
    "n_skipped",
    "n_error",
    "n_cut",
    "n_empty",
    "n_prompt_cut",
    "n_refused",
    "lowest",
    "highest",
)
# The share of skipped and failed requests above which a cell is marked: as pandas' query on a table.
MARKED = "n_skipped + n_error > 0.01 * (n + n_skipped + n_error)"
COMPARISON = ("published", "published_n", "published_cell", "comparison")
# What a paired comparison adds: how many prompts only one side has right, and McNemar's exact p.
MCNEMAR = ("n_first_only", "n_second_only", "p_mcnemar")
