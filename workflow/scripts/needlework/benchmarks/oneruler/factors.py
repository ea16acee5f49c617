"""The factors of ONERULER's prompts: tasks, languages (by the size of their Wikipedias), lengths."""

from __future__ import annotations

from dataclasses import replace

from needlework.data.language_names import language_name
from needlework.factor import Factor, in_1000

# The tasks in the order of the paper's Figure 5, and what they are called there.
NIAH = {
    "niah_single": "S-NIAH",
    "niah_multikey": "MK-NIAH",
    "niah_multivalue": "MV-NIAH",
    "niah_multiquery": "MQ-NIAH",
    "niah_none": "None-NIAH",
}
CWE = {"cwe_easy": "CWE-easy", "cwe_hard": "CWE-hard"}
TASKS = {**NIAH, **CWE}
# Tasks whose answer is in the text: what can be overlooked.
PRESENT = tuple(task for task in NIAH if task != "niah_none")

# The paper's Table 2: its languages, and how many articles their Wikipedias have.
ARTICLES = {
    "en": 6_961_391,
    "de": 2_992_863,
    "fr": 2_668_204,
    "sv": 2_605_454,
    "nl": 2_180_999,
    "ru": 2_031_560,
    "es": 2_013_009,
    "it": 1_906_293,
    "pl": 1_649_832,
    "zh": 1_465_839,
    "ja": 1_452_150,
    "uk": 1_368_238,
    "vi": 1_293_417,
    "pt": 1_144_604,
    "fa": 1_030_086,
    "sr": 703_048,
    "ko": 699_221,
    "no": 643_075,
    "fi": 589_626,
    "cs": 563_790,
    "hu": 554_772,
    "da": 306_973,
    "ta": 172_122,
    "hi": 165_001,
    "sw": 97_374,
    "st": 1_383,
}
# Section 2: a language with at least as many articles is of high resource.
HIGH_RESOURCE = 250_000
GROUPS = {
    "english": "English",
    "high": "Other high-resource",
    "low": "Low-resource",
    "unknown": "Of unknown resources",
}
# Section 3.1: what the paper calls long contexts.
LONG = (64_000, 128_000)
LONG_CONTEXTS = "long contexts (64K and 128K, or a run's two longest lengths)"
# Errors of answers, in the order in which they are drawn (Figures 6b, 18 and 19).
ERRORS = {
    "none_error": "'none', although present",
    "wrong_number": "wrong number",
    "partial": "partly right",
    "no_number": "no number and no 'none'",
    "no_answer": "no answer",
    "lost": "skipped or failed",
}

# The columns of instances and scores.
INSTRUCTION = Factor(
    "instruction_lang", label="Instructions", order=tuple(ARTICLES), format=language_name
)
CONTEXT = Factor(
    "context_lang", order=("all", *ARTICLES), words={"all": "All languages"}, format=language_name
)
LENGTH = Factor("length", "int32", label="Context length ({unit_of_length})", format=in_1000)
NONE_OPTION = Factor("none_option", "bool", order=(True, False))
N_NEEDLES = Factor("n_needles", "int32")
FACTORS = (
    INSTRUCTION,
    CONTEXT,
    LENGTH,
    NONE_OPTION,
    N_NEEDLES,
    Factor("exhausted", "bool", asked=False),
)
# An instance's id is made of these columns. Never change them: each id would change.
NAMED_BY = ("instruction_lang", "context_lang", "length", "none_option", "n_needles", "exhausted")
# Arrow types by name.
COLUMNS = {factor.name: factor.type for factor in FACTORS}

# The columns that results have besides.
METRIC = Factor("metric", order=("strict", "released", "careful"))
TASK = Factor("task", order=("niah", "all", *TASKS), words=TASKS)
GROUP = Factor("group", order=("all", *GROUPS), words=GROUPS)
ERROR = Factor("error", order=tuple(ERRORS), words=ERRORS)
# Where languages are named by their codes.
INSTRUCTION_CODE, CONTEXT_CODE = (
    replace(factor, label="", words={}, format=None) for factor in (INSTRUCTION, CONTEXT)
)
