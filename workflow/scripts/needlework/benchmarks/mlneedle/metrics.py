"""MLNeedle's metrics; their functions are in `scores`."""

from __future__ import annotations

from needlework.scoring.metric import CAREFUL, FOUND, SECOND, YES_OR_NO, Meaning, Metric, by_name

_WORDS = {"words": Meaning("The answer's words are a reference's.", "the words of a reference")}
_SEMANTIC = {
    "semantic": Meaning(
        "The answer is near a reference in meaning, by an embedding.", "near in meaning"
    )
}
_NEITHER = {
    "no_verdict": Meaning("The answer says neither yes nor no.", "neither yes nor no"),
}

METRICS = by_name(
    Metric(
        "containment",
        "exact_accuracy",
        FOUND,
        words="the paper's exact accuracy",
        translated=True,
    ),
    Metric(
        "released",
        "released_accuracy",
        {**FOUND, **_WORDS},
        words="the released scorer's",
        raw=True,
        translated=True,
    ),
    # The released scorer's third clause, which the paper does not mention.
    Metric(
        "released_semantic",
        "Semantic",
        {**FOUND, **_WORDS, **_SEMANTIC},
        words="the released scorer's, or near a reference in meaning",
        raw=True,
        translated=True,
        embedder={
            "kind": "sentence-transformers",
            "name": "sentence-transformers/all-mpnet-base-v2",
        },
    ),
    Metric(
        CAREFUL,
        "careful",
        SECOND,
        words="the second scorer's verdict",
        beside=True,
        translated=True,
    ),
    Metric(
        "existence",
        "existence_accuracy",
        {**YES_OR_NO, **_NEITHER},
        words="Yes or No for existence",
        choice=False,
        tasks=("existence",),
        translated=True,
    ),
)
