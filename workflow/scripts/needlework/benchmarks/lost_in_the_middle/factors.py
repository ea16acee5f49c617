"""What tells Lost in the Middle's prompts apart, and what the paper's settings are."""

from __future__ import annotations

from needlework.benchmarks.factor import Factor

ENGLISH = "en"
QA, PAIRS, OPEN = "multi_document_qa", "key_value", "open_domain"
TASKS = ("closed_book", "oracle", QA, PAIRS, OPEN)
# What an ablation changes, one thing at a time. "main" is the paper's setting.
VARIANTS = ("main", "query_aware", "random_distractors", "random_order", "unambiguous")

LANG = Factor(
    "lang", label="Language", order=(ENGLISH,), format="language", words={"uuid": "UUIDs"}
)
# Of documents, or of pairs.
SIZE = Factor("n_documents", "int32", label="Documents in the prompt")
INDEX = Factor("gold_index", "int32", label="Index")
KEYS = Factor("keys", order=("none", "uuid", "words"))

FACTORS = (
    LANG,
    SIZE,
    INDEX,
    Factor("distractors"),
    Factor("order"),
    Factor("query_aware", "bool"),
    Factor("answer_present", "bool"),
    Factor("unambiguous", "bool"),
    KEYS,
    # No budget: the number of documents or pairs decides how long a prompt is.
    Factor("length", "int32"),
)
# Arrow types by name.
COLUMNS = {factor.name: factor.type for factor in FACTORS}
