"""Which models `snakemake doctor` checks, and which are refused, with what remedy."""

from __future__ import annotations

from typing import Any

import pytest

from factories import demo_run
from needlework.errors import UserError
from needlework.given import given
from needlework.planning.checkups import changes, check_doctor, check_shared
from needlework.planning.config import validated
from needlework.planning.layers import layered

PAIR = {"model": "b", "against": "a"}


def config(changes: dict[str, Any], pairs: list[Any] | None = None, **own: Any) -> dict[str, Any]:
    """Two entries of one model behind vLLM, the second with `changes`."""
    default = demo_run()
    model = {"backend": "vllm", "name": "org/model", "tokenizer": "words", "context": 8192}
    default["models"] = {"a": model, "b": model | changes, "lexical": default["models"]["lexical"]}
    default["run"] = {"models": ["a", "b", "lexical"], "benchmarks": ["mlneedle"]}
    default["run"]["doctor"] = [PAIR] if pairs is None else pairs
    return given(validated(default | own))


def test_pairs_have_settings_thresholds_and_known_factors() -> None:
    own = config({"engine": {"kv_cache_dtype": "fp8"}})
    check_doctor(own)
    (pair,) = own.run.doctor
    assert (pair.model, pair.against, pair.fail_if_worse_by) == ("b", "a", None)
    own = config({"variant": "v"}, [{**PAIR, "fail_if_worse_by": 0.02}])
    assert [pair.fail_if_worse_by for pair in own.run.doctor] == [0.02]
    with pytest.raises(UserError, match=r"doctor.by names 'postion'.*did you mean 'position'"):
        check_doctor(config({"variant": "v"}, doctor={"by": ["length", "postion"]}))
    own = config({"variant": "v"}, [{"model": "a"}, PAIR])
    check_doctor(own)
    assert [changes(own, checkup) for checkup in own.run.doctor] == [{}, {"variant": (None, "v")}]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({}, "nothing"),
        ({"engine": {"enable_prefix_caching": False}}, "engine.enable_prefix_caching"),
        ({"engine": {"max_num_seqs": 4}}, "engine.max_num_seqs"),
        ({"engine": {"max_model_len": 9000}}, "engine.max_model_len"),
        ({"shards": 2}, "shards"),
        ({"context": 16384}, "context"),
    ],
)
def test_a_pair_that_would_share_answers_needs_a_variant(changes, named) -> None:
    with pytest.raises(UserError, match=rf"\({named}\).*set models\.b\.variant"):
        check_doctor(config(changes))
    check_doctor(config({**changes, "variant": "other"}))


@pytest.mark.parametrize(
    ("changes", "pairs", "said"),
    [
        ({}, [{"model": "c"}], "run.doctor names 'c', which is not in `run.models`"),
        ({}, [{"model": "a", "against": "c"}], "run.doctor names 'c', which is not in"),
        ({}, [{"model": "a", "against": "a"}], "compares a with itself: name another model"),
        ({"variant": "v"}, [PAIR, {"model": "b"}], "doctor names the model b twice: check it once"),
        ({}, [{"model": "a", "fail_if_worse_by": 0.1}], "is compared with no other model: set"),
        ({}, [{"model": "lexical"}], "backend lexical runs no model"),
        ({}, [{"model": "a", "against": "lexical"}], "backend lexical runs no model"),
        ({"lengths": [512]}, None, "different `lengths`.*give models.b the `lengths` of models.a"),
        ({"samples": 2}, None, "different `samples`"),
        ({"tokenizer": "mistral-v1"}, None, "different `tokenizer`"),
    ],
)
def test_a_pair_that_cannot_be_compared_is_refused(changes, pairs, said) -> None:
    with pytest.raises(UserError, match=said):
        check_doctor(config(changes, pairs))


def test_a_variant_says_nothing_to_a_reader() -> None:
    config = demo_run(run={"models": ["lexical"]})
    config["models"]["lexical"]["variant"] = "v"
    with pytest.raises(UserError, match=r"lexical.variant is no key of the backend lexical"):
        validated(config)


def test_models_at_two_addresses_need_a_variant() -> None:
    """Answers are found by the model, and would be one server's for both."""
    own = {"backend": "openai", "name": "m", "tokenizer": "words", "context": 8192}
    entries = {n: {**own, "base_url": f"http://localhost:{n}/v1"} for n in ("8000", "8001")}
    config = {"run": {"models": list(entries)}, "models": entries}
    with pytest.raises(UserError, match=r"models\.8001 would share its answers.*8001\.variant"):
        check_shared(given(validated(layered(demo_run(), [config]))))
    entries["8001"]["variant"] = "other"
    check_shared(given(validated(layered(demo_run(), [config]))))


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (
            {"run": {"audits": [{"base": "a", "changed": "b"}]}},
            r"run\.audits is .*, but audits became the doctor: set `run\.doctor`, as in \[\{model: "
            r"<changed>, against: <base>\}\]\.",
        ),
        ({"run": {"audits": []}}, r"run\.audits is \[\], but audits became the doctor"),
        ({"audit": {"again": 5}}, r"audit is .*, but audits .*: give .* the name `doctor`\."),
    ],
)
def test_keys_of_audits_name_those_of_the_doctor(own, said) -> None:
    with pytest.raises(UserError, match=said):
        validated(layered(demo_run(), [own]))
