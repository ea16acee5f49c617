"""mLongRR's metrics; their functions are in `scores`."""

from __future__ import annotations

from needlework.scoring.metric import (
    CAREFUL,
    CORRECT,
    NO_NUMBER,
    SECOND,
    SEVERAL,
    SILENT,
    WRONG_NUMBER,
    Meaning,
    Metric,
    by_name,
)

_UNANSWERABLE = {
    "unanswerable": Meaning(
        "The answer says that the text has no answer, but the text has one.",
        "says it is not there",
    ),
}
_NO_REFUSAL = Meaning(
    "The text has no answer, but the answer does not say so.", "should have refused"
)
_STRICT = {
    "other_needle": Meaning("The answer gives what another needle says.", "another needle's"),
    "no_city": Meaning("The answer names no needle's city.", "no city"),
    "no_refusal": _NO_REFUSAL,
}
_NOT_FOUND = {"not_found": Meaning("The answer lacks what was asked for.", "not found")}

METRICS = by_name(
    Metric(
        "strict",
        "strict",
        {**CORRECT, **SEVERAL, **WRONG_NUMBER, **_UNANSWERABLE, **_STRICT, **SILENT},
    ),
    Metric(
        "released",
        "released",
        {**CORRECT, **_NOT_FOUND, **SILENT},
        words="the notebooks'",
        raw=True,
    ),
    Metric(
        "released_claude",
        "released_claude",
        {**CORRECT, **_NOT_FOUND, **SILENT},
        words="that of Claude's notebook",
        raw=True,
    ),
    Metric(
        CAREFUL,
        "careful",
        {
            **SECOND,
            **SEVERAL,
            **NO_NUMBER,
            **_UNANSWERABLE,
            "no refusal": _NO_REFUSAL,
            **SILENT,
        },
        words="the second scorer's verdict",
        beside=True,
        files={"city_names": "mlongrr/city_names.tsv"},
    ),
)
