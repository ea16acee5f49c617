"""The simulated prefix cache against vLLM's own, on the CPU, with a tiny model: see `make setup-vllm`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from jobs import PYTHON, SCRIPTS, configuration, run

from needlework.prompts.ordering import PromptStore
from needlework.prompts.spans import Span, literal, render
from needlework.records import SPAN
from needlework.seeding import rng
from prefix_cache import PrefixCache, lower_bound

pytestmark = [
    pytest.mark.slow,
    pytest.mark.large,
    pytest.mark.xdist_group("vllm"),
    pytest.mark.skipif(
        not PYTHON.exists(), reason="vLLM's environment is not here: run `make setup-vllm`"
    ),
]

QUESTIONS, DOCUMENTS, INDICES, NEW_TOKENS = 6, 16, (0, 5, 10, 15), 16
# Of a few prompts, so that much is evicted.
BLOCK, CAPACITY = 128, 16
TOWNS = ("Orveld", "Tamsin", "Quillmouth", "Brackwater", "Ilmar", "Sedgeby")

# Answers the prompts in each of the orders, with an empty cache each time; one prompt at a time.
ANSWER = """
import json, sys
sys.path.append(sys.argv[1])
from needlework.given import given as blocks
from needlework.models.backends.base import Request
from needlework.models.backends.vllm import VllmBackend
from needlework.prompts.spans import literal

if __name__ == "__main__":
    given = json.loads(open(sys.argv[2]).read())
    backend = VllmBackend(blocks(given["config"]), "tiny", "journal")
    backend.load()
    found = {}
    for name, places in given["orders"].items():
        requests = [
            Request(str(n), 0, "exact", [literal("question", given["prompts"][n])], [],
                    given["new_tokens"], 1, {})
            for n in places
        ]
        answers = list(backend.generate(requests))
        found[name] = [[a.error, a.cached_tokens, a.completion_tokens] for a in answers]
        assert backend._engine.reset_prefix_cache()
    tokens = [backend._tokens(prompt) for prompt in given["prompts"]]
    backend.close()
    with open(sys.argv[3], "w") as file:
        json.dump({"tokens": tokens, "answers": found}, file)
"""


def prompts() -> tuple[list[list[Span]], dict[str, str]]:
    """Each question's needle at each index among the same documents, an index at a time."""
    texts = {
        f"made/en/{n}": f"House {n} of {TOWNS[n % 6]} was built in {1500 + n}. Nobody lives there. "
        f"When house {n} was built, {TOWNS[n % 5]} was a harbour of {n % 7} passages. "
        for n in range(QUESTIONS * DOCUMENTS)
    }
    made = []
    for index in INDICES:
        for question in range(QUESTIONS):
            needle, *others = range(question * DOCUMENTS, (question + 1) * DOCUMENTS)
            places = [*others[:index], needle, *others[index:]]
            shown = [
                Span("distractor", f"made/en/{n}", 0, len(texts[f"made/en/{n}"])) for n in places
            ]
            asked = literal("question", f"Question: When was house {needle} built?")
            made.append([literal("instruction", "Answer the question. "), *shown, asked])
    return made, texts


@pytest.fixture(scope="module")
def found(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Tokens, and what the engine says of each prompt, in our order, the file's and a random one."""
    folder = tmp_path_factory.mktemp("cache")
    made, texts = prompts()
    column = PromptStore()
    column.add(pa.chunked_array([[[span._asdict() for span in p] for p in made]], pa.list_(SPAN)))
    orders = {
        "ours": column.order(texts).places,
        "file": list(range(len(made))),
        "random": rng("cache").permutation(len(made)).tolist(),
    }
    model = {
        **{"backend": "vllm", "name": str(tiny / "model"), "tokenizer": "words", "context": 1024},
        "lengths": {"mlneedle": [512]},
        "sampling": {"temperature": 1, "top_k": 50, "top_p": 1, "seed": 0},
        "engine": {
            "dtype": "float32",
            "enforce_eager": True,
            "max_model_len": 1024,
            "max_num_seqs": 1,
            # One block is vLLM's own.
            "num_gpu_blocks_override": CAPACITY + 1,
        },
    }
    given = {
        "prompts": [render(spans, texts) for spans in made],
        "orders": orders,
        "new_tokens": NEW_TOKENS,
        "config": {"model": "tiny", **configuration(model)["models"]["tiny"]},
    }
    (folder / "given.json").write_text(json.dumps(given), encoding="utf-8")
    run(ANSWER, SCRIPTS, folder / "given.json", folder / "found.json", folder=folder, seconds=500)
    return json.loads((folder / "found.json").read_text(encoding="utf-8")) | {"orders": orders}


@pytest.mark.parametrize("order", ["ours", "file", "random"])
def test_the_engine_finds_what_the_simulator_says(found: dict[str, Any], order: str) -> None:
    cache = PrefixCache(BLOCK, CAPACITY)
    engine = simulated = 0
    for place, (error, cached, new) in zip(
        found["orders"][order], found["answers"][order], strict=True
    ):
        assert error is None
        engine += cached
        simulated += cache.ask(found["tokens"][place], new)
    assert simulated > 0 or order == "file"
    assert abs(engine - simulated) <= 0.02 * simulated


def test_our_order_computes_hardly_more_than_the_least(found: dict[str, Any]) -> None:
    tokens = found["tokens"]
    total, least = sum(map(len, tokens)), lower_bound(tokens, BLOCK)
    computed = {
        order: total - sum(cached for _, cached, _ in answers)
        for order, answers in found["answers"].items()
    }
    assert computed["ours"] <= 1.05 * least
    assert computed["ours"] < min(computed["file"], computed["random"])
