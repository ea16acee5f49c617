"""ONERULER's metrics; their functions are in `scores`."""

from __future__ import annotations

from needlework.scoring.metric import (
    CAREFUL,
    CORRECT,
    NO_NUMBER,
    PARTIAL,
    SECOND,
    SEVERAL,
    SILENT,
    WRONG_NUMBER,
    Meaning,
    Metric,
    by_name,
)

_SAYS_NONE = Meaning(
    "The answer says that there is no such number, but there is one.", "says none, wrongly"
)
_PHRASES = {"phrases": "oneruler/none_phrases.yaml"}

METRICS = by_name(
    Metric(
        "strict",
        "strictly",
        {
            **CORRECT,
            **PARTIAL,
            **WRONG_NUMBER,
            "wrong_words": Meaning(
                "The answer lacks all words that were asked for.", "wrong words"
            ),
            "none_error": _SAYS_NONE,
            **SILENT,
        },
        files=_PHRASES,
    ),
    Metric(
        "released",
        "released",
        {
            **CORRECT,
            **PARTIAL,
            **WRONG_NUMBER,
            "none_word": Meaning(
                "The answer says 'none', but there is an answer.", "says 'none', wrongly"
            ),
            "no_none_word": Meaning(
                "The right answer is 'none', but the answer does not say so.", "'none' is missing"
            ),
            **SILENT,
        },
        words="the released scorer's",
        raw=True,
    ),
    Metric(
        CAREFUL,
        "careful",
        {
            **SECOND,
            **SEVERAL,
            **NO_NUMBER,
            "none": _SAYS_NONE,
            "missing": Meaning(
                "The answer lacks words that were asked for. Their number follows the colon.",
                "words are missing",
            ),
            "more": Meaning(
                "The answer has words that were not asked for. Their number follows the colon.",
                "words too many",
            ),
            **SILENT,
        },
        words="the second scorer's verdict",
        beside=True,
        files=_PHRASES,
    ),
)
