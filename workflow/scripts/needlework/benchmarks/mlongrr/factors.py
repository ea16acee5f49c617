"""The factors of mLongRR's prompts, and the order of their values."""

from __future__ import annotations

from needlework.factor import Factor, in_1000

# Tasks: one needle to find, several to compare, none to say so.
RETRIEVAL, REASONING, ABSENT = "retrieval", "reasoning", "absent"
QUESTIONS = ("number", "city")
# The paper's languages (Table 1), by their resources.
LANGUAGES = ("en", "vi", "id", "sw", "so")
# The lengths and depths of its released files; depths by the number of needles.
LENGTHS = (2000, 8000, 16000, 32000, 64000)
DEPTHS = {1: (0, 25, 50, 75, 100), 3: (0, 25, 50, 75)}
NAMES = {
    "en": "English",
    "vi": "Vietnamese",
    "id": "Indonesian",
    "sw": "Swahili",
    "so": "Somali",
    "az": "Azeri",
}

LANG = Factor("lang", label="Language", order=LANGUAGES)
HAYSTACK = Factor(
    "haystack",
    order=("mlongrr_articles",),
    words={
        "mlongrr_articles": "news articles",
        "paul_graham_essays": "Paul Graham's essays",
        "oneruler_books": "ONERULER's books",
        "sample_books": "the sample's books",
    },
)
LENGTH = Factor("length", "int32", label="Length ({unit_of_length})", format=in_1000)
# How many needles the question speaks of, up to as many as a task can have.
N_NEEDLES = Factor(
    "n_needles",
    "int32",
    label="Needles",
    words={n: f"{n} needles" for n in range(1, 21)}
    | {1: "one needle", 2: "two needles", 3: "three needles"},
)
QUESTION = Factor(
    "question",
    label="Asked",
    order=QUESTIONS,
    words={"number": "the number", "city": "its city"},
)
# Percent; null where there is no needle.
DEPTH = Factor("depth", "int32", label="Depth in the prompt", percent=1)
# The name of the prompt (`prompts` in the configuration).
TEMPLATE = Factor(
    "template",
    order=("paper",),
    last=("translated",),
    words={"paper": "prompt 1", "prompt2": "prompt 2"},
)

FACTORS = (
    *(LANG, HAYSTACK, LENGTH, N_NEEDLES, QUESTION, DEPTH, TEMPLATE),
    # Percent of the haystack's tokens before the first needle.
    Factor("real_depth", "double", asked=False),
    Factor("haystack_tokens", "int32", asked=False),
    Factor("sentences", "int32", asked=False),
    Factor("sentences_before", "int32", asked=False),
    # Whether the text ran out before the length.
    Factor("exhausted", "bool", asked=False),
    # Tokens a word of the language (Table 2).
    Factor("fertility", "double", asked=False),
    # The accuracy of who reads all needles and guesses among them; null for one needle or none.
    Factor("chance", "double", asked=False),
    # What the needles say, in the order of the text: numbers parted by a space; cities by "|", each with
    # its English name and that in the language, parted by "/".
    Factor("numbers", asked=False),
    Factor("cities", asked=False),
    # What the prompt asks for where there is no needle; empty where it does not.
    Factor("unanswerable", asked=False),
)
# An instance's id is made of these columns. Never change them: each id would change.
NAMED_BY = (
    *("lang", "haystack", "length", "n_needles", "question", "depth"),
    *("template", "real_depth", "haystack_tokens", "sentences", "sentences_before", "exhausted"),
    *("fertility", "chance", "numbers", "cities", "unanswerable"),
)

# Of scores and results.
METRIC = Factor(
    "metric", label="Metric", order=("strict", "released", "released_claude", "careful")
)
