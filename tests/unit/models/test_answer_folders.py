"""The folders of models' answers in the journal: found by what the model is, not by its entry's name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from factories.models import remote, requests
from http_server import OpenAIServer, completion
from needlework.journal import Journal
from needlework.models.answer_folders import journal_of, may_have_answers
from needlework.models.backends.openai.backend import OpenaiBackend
from needlework.models.generation import generate


def answer(server: OpenAIServer, folder: Path, entry: str, n: int = 24, **changes: Any) -> list:
    """A job of an entry of the configuration: the answers to `n` prompts."""
    backend = remote(server.url, model=entry, journal=str(folder), **changes)
    asked = requests(*(f"prompt {i}" for i in range(n)))
    with journal_of(folder / "generations", backend.identity(), entry) as journal:
        return generate(asked, backend, journal)["text"].to_pylist()


def sent(server: OpenAIServer) -> int:
    return len(server.received)


def test_an_entry_renamed_back_and_forth_asks_nothing(server, tmp_path) -> None:
    first = answer(server, tmp_path, "a")
    assert sent(server) == 24
    for name in ("b", "a", "b.c", "a"):
        assert answer(server, tmp_path, name) == first
    assert sent(server) == 24
    # Another variant is another model.
    answer(server, tmp_path, "a", variant="other")
    assert sent(server) == 48


@pytest.mark.parametrize("other", ["b", "a"])
def test_folders_of_an_older_version_answer_any_entry(server, tmp_path, other: str) -> None:
    """Its own name's first, so that no answer that an entry had is changed."""
    answer(server, tmp_path, "a")
    (made,) = (tmp_path / "generations").iterdir()
    made.rename(tmp_path / "generations/a")
    (records,) = (tmp_path / "generations/a").glob("*.jsonl")
    for name in ("B", "c"):
        lines = [json.loads(line) | {"text": name} for line in records.open()]
        for line in lines:
            del line["check"], line["line"]
        with Journal(tmp_path / "generations" / name) as journal:
            journal.append(lines)
    n = sent(server)
    assert set(answer(server, tmp_path, other)) == (
        {"B"} if other == "b" else {line["text"] for line in map(json.loads, records.open())}
    )
    assert set(answer(server, tmp_path, "c")) == {"c"}
    assert sent(server) == n and not list((tmp_path / "generations").glob("*@*"))


def test_entries_with_equal_settings_share_answers_at_once(server, tmp_path) -> None:
    server.reply = slow_and_different()
    found: dict[str, list] = {}

    def run(name: str) -> None:
        found[name] = answer(server, tmp_path, name, 80, concurrency=2)

    threads = [Thread(target=run, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found["a"] == found["b"] == answer(server, tmp_path, "c", 80)
    # Each may have sent what the other had under way.
    assert sent(server) <= 80 + 24


def slow_and_different() -> Any:
    return lambda number, body: replace(completion(body, f"answer {number}"), delay=0.05)


def test_a_former_key_counts_only_under_the_own_name(server, tmp_path) -> None:
    """`top_k: 50` was the default: another entry that sets it is another model today."""
    fifty = {"sampling": {"temperature": 0, "top_p": 1, "top_k": 50, "seed": 0}}
    none = {"sampling": {**fifty["sampling"], "top_k": None}}
    assert isinstance(remote(server.url, **none), OpenaiBackend)
    answer(server, tmp_path, "a", **fifty)
    (made,) = (tmp_path / "generations").iterdir()
    answer(server, tmp_path, "b", **none)
    assert sent(server) == 48
    made.rename(tmp_path / "generations/a")
    answer(server, tmp_path, "c", **none)
    assert sent(server) == 48
    for path in (tmp_path / "generations").glob("*@*"):
        path.rename(tmp_path / path.name)
    answer(server, tmp_path, "a", **none)
    assert sent(server) == 48
    answer(server, tmp_path, "c", **none)
    assert sent(server) == 72


def test_batches_of_a_renamed_entry_are_found(own_key, tmp_path) -> None:
    names = [remote("http://a/v1", model=name, journal=str(tmp_path)) for name in "ab"]
    one, two = (
        journal_of(tmp_path / "batches", backend.identity(), name)
        for backend, name in zip(names, "ab", strict=True)
    )
    assert one.directory == two.directory


def test_a_folder_names_its_model_and_may_have_answers(tmp_path) -> None:
    identity = {"backend": "openai", "name": "org/model: large"}
    folder = tmp_path / "generations"
    journal = journal_of(folder, identity, "mine")
    assert journal.directory.name.startswith("model_large@")
    assert not may_have_answers(folder, identity)
    with journal:
        journal.append([{"key": "k"}])
    assert may_have_answers(folder, identity)
    assert not may_have_answers(folder, {"backend": "vllm", "name": "org/model: large"})
    (folder / "mine").mkdir()
    assert not may_have_answers(folder, {"backend": "vllm"})
    (folder / "mine/1.jsonl").touch()
    assert may_have_answers(folder, {"backend": "vllm"})
