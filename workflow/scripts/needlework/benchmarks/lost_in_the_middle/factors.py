"""The factors of Lost in the Middle's prompts, and the paper's settings."""

from __future__ import annotations

from typing import Any

from needlework.factor import Factor

ENGLISH = "en"
QA, PAIRS, OPEN = "multi_document_qa", "key_value", "open_domain"
TASKS = ("closed_book", "oracle", QA, PAIRS, OPEN)
# What an ablation changes, one thing at a time. "main" is the paper's setting.
VARIANTS = ("main", "query_aware", "random_distractors", "random_order")

# Without documents, and with the gold document alone.
LEVELS = ("closed_book", "oracle")
# The paper's table of each number of documents.
QA_TABLES = {10: "table5", 20: "table6", 30: "table7"}

LANG = Factor("lang", order=(ENGLISH,))
# Of documents, or of pairs.
SIZE = Factor("n_documents", "int32")
INDEX = Factor("gold_index", "int32")
KEYS = Factor("keys", order=("none", "uuid", "words"))

FACTORS = (
    LANG,
    SIZE,
    INDEX,
    Factor("distractors"),
    Factor("order"),
    Factor("query_aware", "bool"),
    Factor("answer_present", "bool"),
    KEYS,
    # No budget: the number of documents or pairs decides how long a prompt is.
    Factor("length", "int32"),
)
# An instance's id is made of these columns. Never change them: each id would change.
NAMED_BY = (
    *("lang", "n_documents", "gold_index", "distractors"),
    *("order", "query_aware", "answer_present", "keys", "length"),
)
# The factors of a prompt without documents or pairs, but its language.
WITHOUT_DOCUMENTS: dict[str, Any] = {
    "n_documents": 0,
    "gold_index": None,
    "distractors": "none",
    "order": "none",
    "query_aware": False,
    "answer_present": None,
    "keys": "none",
    "length": 0,
}
# Arrow types by name.
COLUMNS = {factor.name: factor.type for factor in FACTORS}

# Figure 18 leaves a model out of a panel if it answered less than this share of the panel's prompts:
# all others would be cut down to the few that it answered.
LEAST_ANSWERED = 0.5
NOTHING_SHARED = "no question that all models answered at every position"
