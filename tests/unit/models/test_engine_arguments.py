"""Which settings an engine did not take, how a model's decoding is said, and how judges decode."""

from __future__ import annotations

import pytest

from needlework.given import given
from needlework.models.engine_arguments import decoding, ignored, judging

SETS = {"both": ("keys", "values")}
SAMPLING = {"temperature": 0.7, "top_k": 50, "top_p": 1.0, "seed": 0}


@pytest.mark.parametrize(
    ("given", "effective", "said"),
    [
        ({"kv_cache_dtype": "fp8"}, {"kv_cache_dtype": "fp8_e4m3"}, []),
        ({"dtype": "half"}, {"dtype": "torch.float16"}, []),
        ({"dtype": "auto", "quantization": None}, {"dtype": "float32", "quantization": "x"}, []),
        ({"THREADS": "2", "unknown": 1}, {"THREADS": 2}, []),
        ({"cache": True}, {"cache": False}, ["cache: True was ignored: cache is False"]),
        ({"both": "u8"}, {"keys": "u8", "values": "u8"}, []),
        ({"both": "u8"}, {"keys": "u8", "values": "f32"}, ["both: u8 was ignored: values is f32"]),
    ],
)
def test_a_setting_is_ignored_where_the_engine_says_otherwise(given, effective, said) -> None:
    assert ignored(given, effective, SETS) == said


@pytest.mark.parametrize(
    ("sampling", "request_fields", "said"),
    [
        ({}, {}, "temperature 0.7, top-k 50, top-p 1"),
        *[({"top_k": None}, {}, "temperature 0.7, top-p 1"), ({"temperature": 0}, {}, "greedy")],
        ({}, {"temperature": 0}, "greedy"),
        ({"temperature": 0}, {"temperature": None, "top_p": None}, "the endpoint's own"),
    ],
)
def test_decoding_is_what_is_sent(sampling, request_fields, said) -> None:
    entry = {"backend": "openai", "sampling": SAMPLING | sampling, "request": request_fields}
    assert decoding(given(entry)) == said


@pytest.mark.parametrize(("own", "used"), [(0.7, 0), (0, 0), (None, None)])
def test_a_judge_decodes_greedily_unless_temperature_is_null(own, used) -> None:
    entry = {"sampling": {"temperature": own, "top_p": 0.9}, "samples": 3, "max_failed": 0}
    entry |= {"request": {"temperature": None}, "context": 10}
    judge = {**entry, **judging(given(entry))}
    assert judge["sampling"] == {"temperature": used, "top_p": 0.9}
    assert (judge["samples"], judge["context"]) == (1, 10)
    # So a field is left out of requests.
    assert judge["request"] == {"temperature": None}
