"""The columns of Lost in the Middle's prompts and results: their order, names and labels."""

from __future__ import annotations

from typing import Any

from needlework.factor import Factor

ENGLISH = "en"
QA, PAIRS, OPEN = "multi_document_qa", "key_value", "open_domain"
# Without documents, and with the gold document alone.
LEVELS = ("closed_book", "oracle")
TASKS = (*LEVELS, QA, PAIRS, OPEN)
# What changes one thing at a time. "main" is the paper's setting.
ABLATIONS = ("query_aware", "random_distractors", "random_order")
VARIANTS = ("main", *ABLATIONS)
# The paper's table of each number of documents.
QA_TABLES = {10: "table5", 20: "table6", 30: "table7"}

TASK = Factor(
    "task",
    order=(QA, PAIRS),
    words={QA: "documents", PAIRS: "pairs", "closed_book": "closed book", "oracle": "gold alone"},
)
LANG = Factor("lang", order=(ENGLISH,))
# Of documents, or of pairs.
SIZE = Factor("n_documents", "int32", label="Documents in the prompt")
INDEX = Factor("gold_index", "int32", label="Gold document's index")
KEYS = Factor("keys", order=("none", "uuid", "words"), words={"none": "", "uuid": "UUIDs"})

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

# Columns that only results have.
VARIANT = Factor(
    "variant", order=VARIANTS, words={"main": ""} | {v: v.replace("_", " ") for v in ABLATIONS}
)
POSITION = Factor("position", "int32", label="Position in the prompt (1 = first)")
