"""What a run would take: counted from the prompts, less what the journal holds."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factories.models import backend_of, block
from needlework.journal import Journal
from needlework.models.estimates import (
    BLOCK,
    Answering,
    PromptSet,
    Work,
    WorkRow,
    as_text,
    billions,
    save_estimates,
    throughput,
)
from needlework.models.generation import InstanceRequests, Policy, generate
from needlework.prompts.spans import render
from needlework.records import SPAN, write_table
from needlework.seeding import rng
from prefix_cache import lower_bound

ENTRY = {
    **{"backend": "lexical", "name": None, "context": 1000, "samples": 1, "engine": {}},
    **{"request": {}, "reasoning": None, "throughput": None, "price": None},
}
DOCUMENTS = {
    f"c/en/{i}": "".join(rng("estimates", i).choice(list("abcdefgh "), 300)) for i in range(6)
}


def text_of(n: int, salt: str = "") -> str:
    return f"{salt}{'the quick brown fox ' * n}"[:n]


SCHEMA = pa.schema(
    [
        *[(name, pa.string()) for name in ("instance_id", "task")],
        ("prompt", pa.list_(SPAN)),
        ("references", pa.list_(pa.string())),
        *[(name, pa.int32()) for name in ("max_new_tokens", "n_tokens", "length")],
    ]
)


def instances(path: Path, prompts: list[list[dict]], lengths: list[int] | None = None) -> PromptSet:
    """A file of prompts whose tokens are characters."""
    rows = []
    for n, prompt in enumerate(prompts):
        spans = [{"role": "haystack", **span} for span in prompt]
        name = {"instance_id": f"{path.stem}-{n}", "task": "exact", "references": [f"answer {n}"]}
        size = {"max_new_tokens": 8, "n_tokens": len(render(spans, DOCUMENTS))}
        rows.append({**name, **size, "prompt": spans, "length": lengths[n] if lengths else 0})
    write_table(pa.Table.from_pylist(rows, schema=SCHEMA), path)
    return PromptSet([path], DOCUMENTS)


def texts(path: Path, *texts: str, lengths: list[int] | None = None) -> PromptSet:
    return instances(path, [[{"text": text}] for text in texts], lengths)


def passages(n: int, draw: Any) -> list[list[dict]]:
    """n prompts of up to five slices of documents and literal texts, many of which begin alike."""
    made = []
    for _ in range(n):
        spans = [{"text": "Read this: "}]
        for _ in range(int(draw.integers(1, 6))):
            start = int(draw.integers(2)) * 100
            source = f"c/en/{draw.integers(3)}"
            spans += [{"source": source, "start": start, "end": start + 120}, {"text": "\n"}]
        made.append([*spans, {"text": f"Question {draw.integers(4)}?"}])
    return made


def of(model: dict, prompts: PromptSet, *, done: Any = (), gpus: int = 0, **own: Any) -> WorkRow:
    entry = ENTRY | model
    backend = own.get("backend") or backend_of("lexical", {**entry, "model": "m"})
    answering = Answering("m", block(entry), backend, gpus, done=done)
    return Work(answering, "b", prompts, own.get("lengths", []), None).estimate()


def test_further_prompts_cost_as_much_as_the_others(tmp_path) -> None:
    """None of them is in the journal, and what is unknown stays unknown."""
    prompts = texts(tmp_path / "a", text_of(100), text_of(300))
    price = {"price": {"input": 1e6, "cached_input": None, "output": 0}}
    entry, backend = block(ENTRY | price), backend_of("lexical", {**ENTRY, "model": "m"})
    work = Work(Answering("m", entry, backend), "b", prompts, [])
    work.left = work.left * 0
    more = work.with_more(5)
    assert (more.prompts, more.left_prompts) == (7, 5)
    assert (more.prompt_tokens, more.left_prompt_tokens, more.cost) == (1400, 1000, 1000)
    assert (more.left_output_tokens, more.hours, more.gpus) == (40, None, 0)
    assert work.estimate().left_prompts == 0


def test_prompts_are_counted_as_a_model_gets_them(tmp_path) -> None:
    file, sizes = tmp_path / "a.parquet", (100, 200, 300, 1001, 50)
    prompts = texts(file, *map(text_of, sizes), lengths=[100, 200, 100, 100, 0])
    found = of({"samples": 3}, prompts, lengths=[100])
    assert (found.prompts, found.skipped) == (9, 3)
    assert found.prompt_tokens == 3 * (100 + 300 + 50)
    assert found.output_tokens == 9 * 8
    assert (found.left_prompts, found.left_prompt_tokens) == (9, 3 * 450)
    both = of({}, PromptSet([file, file], {}), lengths=[100, 200])
    assert (both.prompts, both.prompt_tokens) == (8, 2 * 650)


def test_equal_prompts_are_left_once_as_they_are_sent(tmp_path) -> None:
    file = tmp_path / "a.parquet"
    prompts = texts(file, text_of(100), text_of(200), text_of(100), text_of(1001), text_of(1001))
    found = of({"samples": 2}, prompts)
    assert (found.prompts, found.left_prompts, found.left_prompt_tokens) == (6, 4, 2 * 300)
    backend = backend_of("lexical", {**ENTRY, "model": "m"})
    with Journal(tmp_path / "journal") as journal:
        generate(InstanceRequests([file], {}, samples=2), backend, journal, Policy(context=1000))
        assert len(list(journal.records())) == found.left_prompts


def test_only_the_questions_that_are_drawn_are_counted(tmp_path) -> None:
    prompts = texts(tmp_path / "a", *map(text_of, (100, 200, 300)))
    names = pa.array(["q1", "q2", "q1"])
    prompts.table = prompts.table.append_column("example_id", names)
    answering = Answering("m", block(ENTRY), backend_of("lexical", {**ENTRY, "model": "m"}))
    found = Work(
        answering, "b", prompts, [], drawn=lambda questions: sorted(questions)[:1]
    ).estimate()
    assert (found.prompts, found.left_prompt_tokens) == (2, 400)


def test_a_request_s_own_limit_of_the_answer_holds(tmp_path) -> None:
    own = {"max_tokens": None, "max_completion_tokens": 4096}
    assert (
        of({"backend": "openai", "request": own}, texts(tmp_path / "a", "x")).output_tokens == 4096
    )


@pytest.mark.parametrize("samples", [1, 2])
def test_what_the_journal_holds_is_not_left(tmp_path, samples) -> None:
    files = [tmp_path / f"{name}.parquet" for name in "ab"]
    for file in files:
        instances(file, passages(20, rng("estimates", file.stem)))
    model = {"samples": samples}
    backend = backend_of("lexical", {**ENTRY, **model, "model": "m"})
    with Journal(tmp_path / "journal") as journal:
        generate(InstanceRequests(files[:1], DOCUMENTS, samples=samples), backend, journal)
        done = {record["key"] for record in journal.records()}
    found = of(model, PromptSet(files, DOCUMENTS), done=done)
    rest = of(model, PromptSet(files[1:], DOCUMENTS))
    assert found.prompts == 40 * samples
    # Prompts that are equal are asked once.
    asked = {r.prompt for r in InstanceRequests(files[:1], DOCUMENTS)}
    answered = sum(r.prompt in asked for r in InstanceRequests(files[1:], DOCUMENTS))
    assert found.left_prompts == rest.left_prompts - samples * answered < found.prompts
    assert 0 < found.left_prompt_tokens < found.prompt_tokens
    # An answer of another model is none of this one.
    oracle = backend_of("oracle", {**ENTRY, "model": "o"})
    other = of(model, PromptSet(files[:1], DOCUMENTS), done=done, backend=oracle)
    assert other.left_prompts == other.prompts


@settings(max_examples=8)
@given(seed=st.integers(0, 1000), n=st.integers(1, 120))
def test_uncached_tokens_are_the_least_that_can_be_computed(seed, n) -> None:
    """A token is a character here, so that nothing is approximate but the last block of a prompt."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "a.parquet")
        prompts = instances(file, passages(n, rng("estimates", "trees", seed)))
        found = of({"backend": "vllm", "name": "an-8B"}, prompts, gpus=1)
        asked = dict.fromkeys(request.prompt for request in InstanceRequests([file], DOCUMENTS))
    least = lower_bound(([ord(c) for c in text] for text in asked), BLOCK)
    computed = found.left_prompt_tokens - found.left_cached_tokens
    # Of a prompt that was there before, the last token's block is computed all the same.
    again = sum(len(text) % BLOCK == 0 for text in asked)
    assert least <= computed <= least + BLOCK * again
    assert n < 50 or found.left_cached_tokens > 0.3 * found.left_prompt_tokens


def test_samples_and_long_prompts_share_what_they_have_in_common(tmp_path) -> None:
    """Characters times tokens are more than 32 bits hold."""
    vllm = {"backend": "vllm", "context": 200_000}
    one = texts(tmp_path / "one", text_of(101))
    assert of({**vllm, "samples": 5}, one).left_cached_tokens == 4 * 96
    long = texts(tmp_path / "long", text_of(160_000), f"{text_of(160_000)}!")
    assert of(vllm, long).left_cached_tokens == 160_000


def test_what_is_answered_shares_nothing_any_more(tmp_path) -> None:
    """Two prompts that are left share what both share with an answered one between them."""
    start = text_of(160)
    prompts = [[{"text": start}, {"text": text_of(200, salt)}] for salt in "abc"]
    repeated = instances(tmp_path / "a", prompts).repeated
    found = [repeated(np.array(left)) for left in ([1, 1, 1], [1, 0, 1], [0, 1, 0])]
    assert found == [2 * 160, 160, 0]


@pytest.mark.parametrize(
    ("model", "cached"),
    [
        ({"backend": "vllm"}, True),
        ({"backend": "vllm", "engine": {"enable_prefix_caching": False}}, False),
        *[({"backend": "transformers"}, False), ({"backend": "openai"}, False)],
        ({"backend": "openai", "price": {"input": 1, "cached_input": None, "output": 1}}, False),
        ({"backend": "openai", "price": {"input": 1, "cached_input": 0.5, "output": 1}}, True),
    ],
)
def test_only_what_has_a_cache_saves(tmp_path, model, cached) -> None:
    prompts = texts(tmp_path / "a", text_of(100), f"{text_of(100)}!")
    assert (of(model, prompts).left_cached_tokens > 0) == cached


def test_hours_are_tokens_by_throughput(tmp_path) -> None:
    prompts = texts(tmp_path / "a", *(text_of(720, str(n)) for n in range(10)))
    own = {"backend": "transformers", "throughput": {"prefill": 2.0, "decode": 0.1}}
    found = of(own, prompts, gpus=4)
    assert found.hours == pytest.approx((7200 / 2 + 80 / 0.1) / 3600)
    assert found.gpu_hours == pytest.approx(4 * found.hours)
    thinking = of(own | {"reasoning": {"max_tokens": 100}}, prompts)
    assert thinking.output_tokens == found.output_tokens + 10 * 100
    assert found.throughput == "configured"
    guessed = of({"backend": "transformers", "name": "x/y-8B"}, prompts, gpus=2)
    assert (guessed.prefill_per_s, guessed.decode_per_s) == (40_000, 4_000)
    assert guessed.throughput == "guessed from 8B"
    assert of({"backend": "transformers", "name": "x/y"}, prompts, gpus=2).hours is None
    assert of({"backend": "openai", "name": "x/y-8B"}, prompts).hours is None


def test_costs_are_tokens_by_price(tmp_path) -> None:
    prompts = texts(tmp_path / "a", text_of(161), f"{text_of(161)}!")
    price = {"input": 2.0, "cached_input": None, "output": 10.0}
    cost = [
        of({"backend": "openai", "price": own}, prompts).cost
        for own in (price, price | {"cached_input": 0.5}, None)
    ]
    expected = ((323 * 2 + 16 * 10) / 1e6, (163 * 2 + 160 * 0.5 + 16 * 10) / 1e6)
    assert cost == [*map(pytest.approx, expected), None]


@pytest.mark.parametrize(
    ("name", "size"),
    [
        *[("meta-llama/Llama-2-7b-chat-hf", 7), ("CohereLabs/aya-23-8B", 8)],
        *[("Qwen/Qwen2.5-0.5B-Instruct", 0.5), ("Qwen/Qwen3-30B-A3B", 3)],
        *[("mistralai/Mixtral-8x7B-Instruct-v0.1", 56), ("/models/70B/some-model", None)],
        *[("mistralai/Mistral-Nemo-Instruct-2407", None), ("bert-base", None), ("", None)],
    ],
)
def test_a_name_tells_a_size(name, size) -> None:
    assert billions(name) == size
    found = throughput(block(ENTRY | {"name": name}), 1)
    assert (found and found.prefill) == (size and 160_000 / size)


def row(**changes: Any) -> WorkRow:
    numbers = {
        **{"prompts": 84_000, "skipped": 0, "prompt_tokens": 1_264_000_000},
        **{"output_tokens": 10_752_000, "left_prompts": 42_000, "left_prompt_tokens": 632_000_000},
        **{"left_cached_tokens": 316_000_000, "left_output_tokens": 5_376_000},
        **{"throughput": "guessed from 8B", "prefill_per_s": 20_000.0, "decode_per_s": 2_000.0},
        **{"gpus": 1, "hours": 5.1355, "gpu_hours": 5.1355, "cost": None},
    }
    return WorkRow("a-model", "mlneedle", "vllm", **numbers | changes)


def test_the_table_says_what_is_left_and_assumed() -> None:
    text = as_text([row(), row(gpu_hours=200.0, cost=1234.5, skipped=7)])
    lines = text.splitlines()
    assert [line.split() for line in lines[:2]] == [
        ["prompt", "output", "GPU"],
        ["prompts", "left", "tokens", "cached", "at", "most", "hours", "cost"],
    ]
    assert lines[3] == "a-model"
    assert lines[4].split() == ["mlneedle", "84,000", "42,000", "632M", "50%", "5.38M", "5.14", "-"]
    assert lines[6].startswith("all") and "168,000" in lines[6] and "205" in lines[6]
    assert "1,234" in lines[5] and "1,234" in lines[6]
    assert "7 prompts exceed" in text and "a-model are a guess" in text
    assert "cost" not in as_text([row()]) and "all" not in as_text([row()])
    assert "tells no size" in as_text([row(hours=None, gpu_hours=None, throughput="")])
    assert "GPU" not in as_text([row(hours=None, gpu_hours=None, gpus=0, throughput="")])
    assert "a-model are counted in words" in as_text([row(counted_in="words")])
    assert "counted in" not in as_text([row()])


def test_the_file_has_it_all(tmp_path) -> None:
    save_estimates([row()], tmp_path / "new/estimate.csv")
    (found,) = csv.DictReader((tmp_path / "new/estimate.csv").read_text("utf-8").splitlines())
    assert found["left_cached_tokens"] == "316000000"
    assert (found["hours"], found["cost"]) == ("5.1355", "")
    assert json.loads(found["prefill_per_s"]) == 20_000
