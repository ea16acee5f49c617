"""The factors of MLNeedle's prompts, and the paper's settings."""

from __future__ import annotations

from needlework.factor import Factor

LANGUAGES = ("en", "de", "es", "zh", "vi", "hi", "ar")
MULTILINGUAL = "multilingual"
POSITIONS = ("start", "middle", "end")

# In the order of the paper's Table 2.
NEEDLE = Factor("needle_lang", order=LANGUAGES)
HAYSTACK = Factor("haystack_lang", order=LANGUAGES, last=(MULTILINGUAL,))
QUESTION = Factor("question_lang", order=LANGUAGES)
POSITION = Factor("position", order=POSITIONS)
DEPTH = Factor("depth", "double")
# In tokens; 0 where there is no haystack.
LENGTH = Factor("length", "int32")
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
