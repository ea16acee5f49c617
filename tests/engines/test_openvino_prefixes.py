"""How many tokens of a prompt are in the cache: against those that must be, and those not computed."""

from __future__ import annotations

import random
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from needlework.models.backends.openvino.engines import BLOCK, OpenvinoEngine
from needlework.models.backends.openvino.gguf_models import kept_folder
from needlework.prompts.openvino_runtime import genai, runtime
from smollm2 import TOKENS

# To import it here would let it report itself.
if find_spec("openvino_genai") is None:
    pytest.skip("OpenVINO GenAI is not installed", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("openvino")]


@pytest.fixture(scope="module")
def folder(small: Path, journal: Path) -> Path:
    """A small model: what the engine keeps of a prompt does not depend on its layers."""
    return kept_folder(small, journal / "openvino")


def started(folder: Path, at_once: int = 1, device: str = "CPU", **changes: Any) -> OpenvinoEngine:
    """An engine; no answer that it gives matters here."""
    chosen = {"cache_size": 1, "max_num_batched_tokens": 4096, "enable_prefix_caching": True}
    scheduler = genai().SchedulerConfig()
    for name, value in ({"max_num_seqs": at_once} | chosen | changes).items():
        setattr(scheduler, name, value)
    return OpenvinoEngine(folder, scheduler, device, {})


def families(number: int) -> list[list[int]]:
    """Prompts of 20 to 450 tokens; most begin like an earlier one, and none is the beginning of another."""
    seeded = random.Random(3)

    def some(least: int, most: int) -> list[int]:
        return [seeded.randint(100, TOKENS - 1) for _ in range(seeded.randint(least, most))]

    made = [some(20, 300)]
    while len(made) < number:
        beginning = seeded.choice(made)
        kept = seeded.randrange(len(beginning)) if seeded.random() < 0.8 else 0
        made.append(beginning[:kept] + some(1, 150))
    return made


def same(one: list[int], other: list[int]) -> int:
    """The tokens that both begin with, in whole blocks."""
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in pairs) // BLOCK * BLOCK


def send(engine: OpenvinoEngine, place: int, prompt: list[int], new: int) -> None:
    generation = genai().GenerationConfig(max_new_tokens=new, apply_chat_template=False)
    generation.ignore_eos = True
    tokens = runtime().Tensor(np.array([prompt], dtype=np.int64))
    engine.send(place, tokens, generation)


def cached(
    engine: OpenvinoEngine, prompts: list[list[int]], at_once: int, new: int
) -> list[int | None]:
    """The cached tokens of each prompt; answers have 1 to `new` tokens."""
    seeded, found, unsent, running = random.Random(7), {}, list(enumerate(prompts)), 0
    while unsent or running:
        if unsent and running < at_once:
            send(engine, *unsent.pop(0), seeded.randint(1, new))
            running += 1
        for place, ended in engine.ended():
            found[place] = ended.cached
            running -= 1
    return [found[place] for place in range(len(prompts))]


@pytest.mark.parametrize(("at_once", "new"), [(1, 3), (3, 3), (3, 70)])
def test_cached_tokens_are_those_that_earlier_prompts_began_with(
    folder: Path, at_once: int, new: int
) -> None:
    prompts = families(30)
    expected = [
        max((same(prompt, other) for other in prompts[:place]), default=0)
        for place, prompt in enumerate(prompts)
    ]
    assert sum(expected) > 500
    assert cached(started(folder, at_once), prompts, at_once, new) == expected


def test_a_full_caches_tokens_are_those_not_computed(folder: Path) -> None:
    """With a block of tokens in each step, the steps before an answer are the blocks that were computed."""
    engine = started(folder, cache_size=0, num_kv_blocks=40, max_num_batched_tokens=BLOCK)
    lost, prompts = 0, families(60)
    for place, prompt in enumerate(prompts):
        send(engine, place, prompt, 4)
        steps, ended = 0, None
        while ended is None:
            ended = next((answer for _, answer in engine.ended()), None)
            sent = engine._running.get(place)
            steps += sent is not None and sent.answered < 2
        assert ended.cached is not None and len(prompt) > ended.cached
        assert steps == -(-(len(prompt) - ended.cached) // BLOCK) + (sent is not None)
        lost += ended.cached < max((same(prompt, other) for other in prompts[:place]), default=0)
    assert lost > 5


def test_a_prompt_asked_again_is_cached(folder: Path) -> None:
    prompt = families(2)[1]
    found = cached(started(folder), [prompt, prompt], 1, 9)
    assert found == [0, len(prompt) // BLOCK * BLOCK]


def test_without_a_cache_nothing_is_said(folder: Path) -> None:
    engine = started(folder, enable_prefix_caching=False)
    assert cached(engine, families(3), 1, 3) == [None] * 3
