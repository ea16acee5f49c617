"""What a vLLM model's answers depend on, what its configuration may say, and how prompts reach an engine.

The engine is a stand-in of a few lines: tests/engines has the real one.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from factories.models import backend_of, block, configured, requests
from needlework.errors import UserError
from needlework.given import given
from needlework.journal import Journal
from needlework.models.backends import vllm
from needlework.models.backends.base import Request
from needlework.models.generation import generate
from needlework.planning.job_resources import job_gpus


def entry(**changes: Any) -> dict[str, Any]:
    own = {"backend": "vllm", "name": "org/big", "revision": "abc", "context": 4096}
    return configured("big", **own | changes)["models"]["big"] | {"model": "big"}


def identity(**changes: Any) -> Any:
    return backend_of("vllm", entry(**changes)).identity()


class EngineDeadError(Exception):
    """vLLM's, as far as the backend looks at it."""


class Engine:
    """A stand-in: it finishes one prompt a step, the newest that waits, and dies before step `dies`.

    A prompt that ends in "." is answered in five tokens, any other without an end.
    """

    def __init__(self, dies: int | None) -> None:
        self.waiting: dict[str, tuple[list[int], Any]] = {}
        self.engine_core = SimpleNamespace(shutdown=lambda timeout: None)
        self.steps, self.dies = 0, dies

    def add_request(self, name: str, tokens: list[int], parameters: Any, **_: Any) -> None:
        self.waiting[name] = tokens, parameters

    def step(self) -> list[Any]:
        self.steps += 1
        if self.steps == self.dies:
            raise EngineDeadError
        name, (tokens, parameters) = self.waiting.popitem()
        ends = tokens[-1] == ord(".") and parameters.max_tokens >= 5
        new = 5 if ends else parameters.max_tokens
        end = {"finish_reason": "stop" if ends else "length"}
        done = {"outputs": [SimpleNamespace(text="x" * new, token_ids=[0] * new, **end)]}
        asked = {"request_id": name, "prompt_token_ids": tokens}
        return [SimpleNamespace(num_cached_tokens=0, **asked, **done)]


class Model(vllm.VllmBackend):
    """The backend with stand-ins for engines, and a token for each byte."""

    CONTEXT = 10_000

    def __init__(self, limit: int | None = None, dies: Iterable[int | None] = ()) -> None:
        # A whole configuration has no prompts as short as these.
        engine = {} if limit is None else {"max_model_len": limit}
        super().__init__(block(entry() | {"engine": engine}), "big", "journal")
        known = limit is not None and limit > 0
        self.limit, self.dies, self.engines = limit if known else self.CONTEXT, iter(dies), []

    def load(self) -> None:
        self._read_settings()

    def _read_settings(self) -> None:
        self._tokenizer = SimpleNamespace(decode=lambda tokens, **_: bytes(tokens).decode())
        self._settings = SimpleNamespace(
            model_config=SimpleNamespace(max_model_len=self.limit),
            cache_config=SimpleNamespace(gpu_memory_utilization=0.9, kv_cache_memory_bytes=None),
            scheduler_config=SimpleNamespace(max_num_seqs=8),
        )

    def _tokens(self, prompt: str) -> list[int]:
        return list(prompt.encode())

    def _start(self) -> None:
        self._engine = Engine(next(self.dies, None))
        self.engines.append(self._engine)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    contents = {
        "vllm": {"SamplingParams": SimpleNamespace},
        "vllm.exceptions": {"VLLMClientError": ValueError},
        "vllm.inputs": {"tokens_input": lambda tokens: tokens},
        "vllm.sampling_params": {"RequestOutputKind": SimpleNamespace(FINAL_ONLY=2)},
        **{"vllm.v1": {}, "vllm.v1.engine": {}},
        "vllm.v1.engine.exceptions": {"EngineDeadError": EngineDeadError},
    }
    for name, content in contents.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)


def test_a_new_limit_retries_only_answers_that_it_affects(engine, tmp_path) -> None:
    """Each prompt is one word, which says nothing of its tokens."""
    asked = requests("a" * 20, "b" * 990, "c" * 990 + ".", "d" * 1200)

    def run(limit: int | None) -> tuple[str, list[str | None]]:
        """The first letters of the prompts that an engine gets, and the lengths of the answers."""
        sent = []

        class Watched(Model):
            def _send(self, name: str, request: Request, tokens: list[int]) -> Any:
                sent.append(request.prompt[0])
                return super()._send(name, request, tokens)

        with Journal(tmp_path) as journal:
            rows = generate(asked, Watched(limit), journal).to_pylist()
        return "".join(sent), [len(r["text"]) if r["error"] is None else None for r in rows]

    at_1000 = [16, 10, 5, None]
    assert run(1000) == ("abcd", at_1000)
    # What is skipped is asked every time.
    assert run(1000) == ("d", at_1000)
    assert run(2000) == ("bd", [16, 16, 5, 16])
    assert run(2000) == ("", [16, 16, 5, 16])
    assert run(None) == run(-1) == ("", [16, 16, 5, 16])
    assert run(1000) == ("d", at_1000)
    assert run(1200) == ("d", [16, 16, 5, None])
    assert run(995) == ("bcd", [16, 5, 4, None])


def test_truncated_answers_are_retried_when_the_limit_changes(engine, tmp_path) -> None:
    """The model's own context cuts once for all."""

    def cut(limit: int | None, folder: str = "limited") -> tuple[int, int, str]:
        """How many engines start, how many tokens the answer has, and how it ended."""
        model = Model(limit)
        with Journal(tmp_path / folder) as journal:
            (row,) = generate(requests("b" * 9990), model, journal).to_pylist()
        return len(model.engines), row["completion_tokens"], row["finish_reason"]

    first, again = (1, 10, "length"), (0, 10, "length")
    assert [cut(-1), cut(-1), cut(20_000)] == [first, again, (1, 16, "length")]
    # Now both answers hold.
    assert cut(-1)[0] == 0
    assert [cut(None, "own"), cut(None, "own")] == [first, again]


@pytest.mark.parametrize(
    ("limits", "most"), [((4, 10**9), 4), ((100, 35), 4), ((100, 10**9), 20)], ids=str
)
def test_an_answer_makes_room_for_the_next_prompt(
    engine, monkeypatch, limits: tuple[int, int], most: int
) -> None:
    """The first prompt is answered last, and holds up no other; of ten tokens each."""
    monkeypatch.setattr(vllm, "PROMPTS_AHEAD", limits[0])
    monkeypatch.setattr(vllm, "TOKENS_AHEAD", limits[1])
    taken, given, under_way = 0, [], []

    def stream() -> Iterator[Request]:
        nonlocal taken
        for request in requests(*(f"prompt {n:03}" for n in range(20))):
            taken += 1
            under_way.append(taken - len(given))
            yield request

    model = Model()
    model.load()
    given.extend(place for place, _ in model.answers(stream()))
    assert sorted(given) == list(range(20)) and given[-1] == 0
    assert max(under_way) == most


def test_what_a_dead_engine_had_is_sent_again_first(engine, monkeypatch) -> None:
    monkeypatch.setattr(vllm, "PROMPTS_AHEAD", 4)
    asked = requests(*(f"prompt {n:03}" for n in range(20)))

    def given(model: Model) -> Iterator[tuple[int, Any]]:
        model.load()
        return model.answers(iter(asked))

    expected = dict(given(Model()))
    found = list(given(dying := Model(dies=[6])))
    assert len(found) == 20 and dict(found) == expected
    assert [engine.steps for engine in dying.engines] == [6, 15]
    before = []
    with pytest.raises(UserError, match=r"models\.big: vLLM's engine died twice"):
        before.extend(place for place, _ in given(Model(dies=[6, 4])))
    assert len(before) == len(set(before)) == 5 + 3


def test_a_local_model_is_known_by_its_content(tmp_path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    for name in ("config.json", "model.safetensors", "chat_template.jinja", "README.md"):
        (here / name).write_text(name, encoding="utf-8")
    shutil.copytree(here, there)
    same = identity(name=str(here))
    assert str(tmp_path) not in str(same)
    (there / "README.md").write_text("another", encoding="utf-8")
    assert identity(name=str(there), revision=None) == same
    for name in ("config.json", "model.safetensors", "chat_template.jinja"):
        (there / name).write_text("another", encoding="utf-8")
        assert identity(name=str(there)) != same
        (there / name).write_text(name, encoding="utf-8")
    assert identity(name=str(there)) == same
    assert identity(lora=str(here)) != identity(lora=None)


def test_a_chat_template_is_identified_by_its_content(tmp_path) -> None:
    one, other = (str(tmp_path / name) for name in ("one.jinja", "other.jinja"))
    for path in (one, other):
        Path(path).write_text("{{ messages }}", encoding="utf-8")
    assert identity(chat_template=one) == identity(chat_template=other) != identity()
    Path(other).write_text("{{ messages }}!", encoding="utf-8")
    assert identity(chat_template=one) != identity(chat_template=other)
    assert entry(chat_template=one)["chat_template"] == one
    with pytest.raises(UserError, match=r"models\.big\.chat_template: .*absent.*correct the path"):
        identity(chat_template=str(tmp_path / "absent.jinja"))


def test_an_engine_takes_its_gpus() -> None:
    assert job_gpus(given(entry())) == 1
    assert (
        job_gpus(given(entry(engine={"tensor_parallel_size": 4, "pipeline_parallel_size": 2}))) == 8
    )
    assert job_gpus(given(entry(backend="lexical", name=None, revision=None))) == 0
    # A journal has the answers of all that a model's name has stood for.
    limited = backend_of("vllm", entry(engine={"max_model_len": 4000}))
    assert limited.holds({"text": "an answer"})
