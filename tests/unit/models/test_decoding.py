"""How a model's decoding is said."""

from __future__ import annotations

import pytest

from needlework.models.engine_arguments import decoding, judging

SAMPLING = {"temperature": 0.7, "top_k": 50, "top_p": 1.0, "seed": 0}


@pytest.mark.parametrize(
    ("sampling", "request_fields", "said"),
    [
        ({}, {}, "temperature 0.7, top-k 50, top-p 1"),
        ({"top_k": None}, {}, "temperature 0.7, top-p 1"),
        ({"temperature": 0}, {}, "greedy"),
        ({}, {"temperature": 0}, "greedy"),
        ({"temperature": 0}, {"temperature": None, "top_p": None}, "the endpoint's own"),
    ],
)
def test_decoding_is_what_is_sent(sampling, request_fields, said) -> None:
    assert decoding({"sampling": SAMPLING | sampling, "request": request_fields}) == said


@pytest.mark.parametrize(("given", "used"), [(0.7, 0), (0, 0), (None, None)])
def test_a_judge_decodes_greedily_unless_temperature_is_null(given, used) -> None:
    entry = {
        "sampling": {"temperature": given, "top_p": 0.9},
        "request": {"temperature": None},
        "samples": 3,
        "max_failed": 0,
        "context": 10,
    }
    own = {**entry, **judging(entry)}
    assert own["sampling"] == {"temperature": used, "top_p": 0.9}
    assert (own["samples"], own["context"]) == (1, 10)
    # So a field is left out of requests.
    assert own["request"] == {"temperature": None}
