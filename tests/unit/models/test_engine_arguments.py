"""Which settings an engine was given and did not take."""

from __future__ import annotations

import pytest

from needlework.models.engine_arguments import ignored

SETS = {"both": ("keys", "values")}


@pytest.mark.parametrize(
    ("given", "effective", "said"),
    [
        ({"kv_cache_dtype": "fp8"}, {"kv_cache_dtype": "fp8_e4m3"}, []),
        ({"dtype": "half"}, {"dtype": "torch.float16"}, []),
        (
            {"dtype": "auto", "quantization": None},
            {"dtype": "torch.float32", "quantization": "x"},
            [],
        ),
        ({"THREADS": "2"}, {"THREADS": 2}, []),
        ({"unknown": 1}, {}, []),
        ({"cache": True}, {"cache": False}, ["cache: True was ignored: cache is False"]),
        ({"both": "u8"}, {"keys": "u8", "values": "u8"}, []),
        ({"both": "u8"}, {"keys": "u8", "values": "f32"}, ["both: u8 was ignored: values is f32"]),
    ],
)
def test_a_setting_is_ignored_where_the_engine_says_otherwise(given, effective, said) -> None:
    assert ignored(given, effective, SETS) == said
