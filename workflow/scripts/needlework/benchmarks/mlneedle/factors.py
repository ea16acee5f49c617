"""The factors of MLNeedle's prompts, with names and order for tables and figures; the paper's settings."""

from __future__ import annotations

from needlework.factor import Factor, in_1024

# In the order of the paper's Table 2.
LANGUAGES = ("en", "de", "es", "zh", "vi", "hi", "ar")
# A haystack of all languages.
MULTILINGUAL = "multilingual"
POSITIONS = ("start", "middle", "end")

NEEDLE = Factor("needle_lang", label="Needle language", order=LANGUAGES)
HAYSTACK = Factor("haystack_lang", label="Haystack language", order=LANGUAGES, last=(MULTILINGUAL,))
QUESTION = Factor("question_lang", label="Question language", order=LANGUAGES)
POSITION = Factor("position", order=POSITIONS)
# The share of the distractors before the needle; null without a needle or without distractors.
DEPTH = Factor(
    "depth",
    "double",
    label="Needle position",
    percent=100,
    words=dict(zip((0, 0.5, 1), POSITIONS, strict=True)),
)
# In tokens; 0 where there is no haystack.
LENGTH = Factor("length", "int32", label="Length ({unit_of_length})", format=in_1024)
RETRIEVAL = Factor("retrieval", order=("semantic",), shared="none")
PRESENT = Factor(
    "needle_present", "bool", order=(True, False), words={True: "present", False: "absent"}
)

FACTORS = (NEEDLE, HAYSTACK, QUESTION, POSITION, DEPTH, LENGTH, RETRIEVAL, PRESENT)
# An instance's id is made of these columns. Never change them: each id would change.
NAMED_BY = (
    *("needle_lang", "haystack_lang", "question_lang"),
    *("position", "depth", "length"),
    *("retrieval", "needle_present"),
)
# Arrow types by name.
COLUMNS = {factor.name: factor.type for factor in FACTORS}

# Figure 4 of the paper.
RESOURCES = {"high and medium": ("en", "es", "de"), "low": ("zh", "vi", "hi", "ar")}
