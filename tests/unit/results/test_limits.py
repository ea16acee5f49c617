"""What fits into a limit of money, hours or tokens, and what it could show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import yaml

from factories.models import backend_of, block
from needlework.given import given
from needlework.models.estimates import Answering, PromptSet, Work
from needlework.models.selection import only_of
from needlework.records import SPAN, write_table
from needlework.results.limits import (
    as_text,
    drawn,
    part_within,
    used,
    within,
    write_subset,
)
from needlework.results.significance import planned_difference

FACTORS = {"b": ["task", "lang"], "c": ["task", "lang"]}
ENTRY: dict[str, Any] = {
    "backend": "lexical",
    "name": None,
    "context": 1000,
    "samples": 1,
    "engine": {},
    "request": {},
    "reasoning": None,
    "throughput": None,
    "price": {"input": 1.0, "cached_input": None, "output": 0.0},
}


@pytest.fixture
def prompts(tmp_path) -> Callable[[int], PromptSet]:
    """So many questions in two languages, in prompts of 100 to 199 tokens."""

    def made(n: int) -> PromptSet:
        rows = [
            {
                **{"instance_id": f"q{i}-{lang}", "example_id": f"q{i}", "task": "ab"[i % 2]},
                **{"lang": lang, "references": ["x"], "max_new_tokens": 0},
                "n_tokens": 100 + (2 * i + (lang == "hi")) % 100,
                "prompt": [{"role": "question", "text": f"{lang}: question {i}?"}],
                "length": 0,
            }
            for i in range(n)
            for lang in ("en", "hi")
        ]
        plain = {key: value for key, value in rows[0].items() if key not in ("prompt", "length")}
        schema = pa.Table.from_pylist([plain]).schema
        schema = schema.append(pa.field("prompt", pa.list_(SPAN)))
        schema = schema.append(pa.field("length", pa.int32()))
        file = tmp_path / f"{n}.parquet"
        write_table(pa.Table.from_pylist(rows, schema=schema), file)
        return PromptSet([file], {}, ["example_id", "lang"])

    return made


def works(*asked: tuple[str, PromptSet], **changes: Any) -> list[Work]:
    return [
        Work(
            Answering(
                f"m{i}", block(ENTRY | changes), backend_of("lexical", ENTRY | {"model": "m"})
            ),
            name,
            prompts,
            [],
            {"lang": ["en"]} if i else None,
        )
        for i, (name, prompts) in enumerate(asked)
    ]


def test_a_sample_has_its_share_of_every_task(prompts) -> None:
    asked = prompts(200)
    numbers = drawn(asked, FACTORS["b"], "b")
    assert len(numbers) == 200 and all(0 <= x < 1 for x in numbers.values())
    for share in (0.1, 0.25, 0.5):
        chosen = [name for name, x in numbers.items() if x < share]
        for parity in (0, 1):
            n = sum(int(name[1:]) % 2 == parity for name in chosen)
            assert abs(n - 100 * share) <= 2
    assert numbers == drawn(asked, FACTORS["b"], "b") != drawn(asked, ["task"], "c")


@pytest.mark.parametrize("limit", [{"money": 0.004}, {"tokens": 4000}, {"money": 1, "tokens": 9e3}])
def test_the_part_is_the_largest_that_fits(prompts, limit) -> None:
    sets = {"b": prompts(60), "c": prompts(40)}
    every = works(("b", sets["b"]), ("c", sets["c"]), ("b", sets["b"]))
    part = part_within(every, limit, FACTORS)
    assert within(part.rows, limit)
    assert part.of == {"b": 60, "c": 40}
    share = [len(part.questions[name]) / n for name, n in part.of.items()]
    assert share[0] == pytest.approx(share[1], abs=0.06)
    # One question more would be too much.
    numbers = {name: drawn(sets[name], FACTORS[name], name) for name in sets}
    rest = {
        (x, name, question)
        for name, own in numbers.items()
        for question, x in own.items()
        if question not in part.questions[name]
    }
    _, name, question = min(rest)
    more = {**part.questions, name: [*part.questions[name], question]}
    rows = [
        work.estimate(np.isin(work.prompts.table["example_id"].to_pylist(), more[work.benchmark]))
        for work in every
    ]
    assert not within(rows, limit)


def test_the_written_configuration_selects_the_part(tmp_path, prompts) -> None:
    """Of a model that has questions of its own, those that are in both."""
    part = part_within(works(("b", prompts(60)), ("c", prompts(40))), {"tokens": 3000}, FACTORS)
    own = [part.questions["b"][0], "another"]
    only = {"m0": {"b": {"example_id": own}}, "m1": {}, "m2": {"b": {"lang": ["en"]}}}
    write_subset(part, only, tmp_path / "new/subset.yaml")
    config = given(yaml.safe_load((tmp_path / "new/subset.yaml").read_text("utf-8")))
    assert only_of(config.models["m0"], "b") == {"example_id": own[:1]}
    for model, name in (("m0", "c"), ("m1", "b"), ("m1", "c"), ("m2", "b")):
        assert only_of(config.models[model], name) == {"example_id": part.questions[name]}


def test_a_benchmark_of_few_questions_asks_little_of_others(prompts) -> None:
    sets = {"b": prompts(1), "c": prompts(99)}
    every = works(("b", sets["b"]), ("c", sets["c"]))
    part = part_within(every, {"tokens": 1000}, FACTORS)
    assert part is not None and len(part.questions["b"]) == 1
    assert min(drawn(sets["c"], FACTORS["c"], "c").values()) == 0


def test_a_proposal_says_what_it_could_show(prompts) -> None:
    every, limit = works(("b", prompts(60))), {"money": 0.003}
    rows = [work.estimate() for work in every]
    part = part_within(every, limit, FACTORS)
    n = len(part.questions["b"])
    text = as_text(part, rows, limit, "results/subset.yaml")
    assert f"fits into 0.003 of money. It takes {used(part.rows, 'money'):.4g} of money" in text
    assert f"b: {n} of 60 questions" in text
    assert f"difference of {100 * planned_difference(n):.1f} points" in text
    assert "add results/subset.yaml as the last file" in text


def test_what_fits_and_what_never_fits_is_said(prompts) -> None:
    sets = prompts(6)
    rows = [work.estimate() for work in works(("b", sets))]
    assert as_text(None, rows, {"money": 10}, "f") == "The whole run is within run.limit."
    rows = [work.estimate() for work in works(("b", sets), price=None)]
    text = as_text(None, rows, {"money": 1}, "f")
    assert text.startswith("run.limit.money does not count m0, which have no `price`.")
    every = works(("b", sets), ("c", sets))
    part = part_within(every, {"tokens": 300}, FACTORS)
    assert part is not None and not part.questions
    text = as_text(part, [work.estimate() for work in every], {"tokens": 300}, "f")
    said = "One question of each benchmark does not fit into 300 tokens: it takes"
    assert text.startswith(said) and f"{used(part.rows, 'tokens'):,.0f}" in text
    assert part_within(every, {"tokens": used(part.rows, "tokens")}, FACTORS).questions
