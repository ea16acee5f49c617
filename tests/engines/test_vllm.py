"""The backend `vllm` on the real engine, on the CPU, with a tiny model: see `make setup-vllm`."""

from __future__ import annotations

import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from jobs import PYTHON, SCRIPTS, Job, run
from tokenizers import Tokenizer

from needlework.jobs.stop import FILE
from needlework.journal import Journal
from needlework.prompts.spans import Span, literal
from needlework.records import PASSAGES, instances_schema, write_table
from needlework.results.doctor.comparison import excess
from needlework.seeding import rng

pytestmark = [
    pytest.mark.slow,
    pytest.mark.large,
    pytest.mark.xdist_group("vllm"),
    pytest.mark.skipif(
        not PYTHON.exists(), reason="vLLM's environment is not here: run `make setup-vllm`"
    ),
]

TOWNS = ("Orveld", "Tamsin", "Quillmouth", "Brackwater", "Ilmar", "Sedgeby")
QUESTIONS, PASSAGES_EACH, SAMPLES, LIMIT, NEW_TOKENS = 6, 14, 4, 512, 64

# Float32 and one prompt at a time: the order of sums, and so rounding, changes no answer.
ENGINE = {"dtype": "float32", "enforce_eager": True, "max_model_len": LIMIT, "max_num_seqs": 1}


@pytest.fixture(scope="module")
def made(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model and its adapter, a corpus, and instances of it.

    Twice six questions of a haystack each, and one prompt (`long`) that exceeds the engine's limit
    by its chat template alone.
    """
    folder = tmp_path_factory.mktemp("made")
    for part in tiny.iterdir():
        (folder / part.name).symlink_to(part)
    passages = [
        f"House {n} of {TOWNS[n % 6]} was built in {1500 + n}. Nobody lives there."
        for n in range(2 * PASSAGES_EACH)
    ]
    rows = [{"passage_id": str(n), "text": text} for n, text in enumerate(passages)]
    write_table(pa.Table.from_pylist(rows, schema=PASSAGES), folder / "corpora/made/en.parquet")

    tokenizer = Tokenizer.from_file(str(folder / "model/tokenizer.json"))

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    def row(name: str, spans: list[Span], texts: list[str]) -> dict[str, Any]:
        return {
            "instance_id": name,
            "benchmark": "made",
            "task": "exact",
            "length": LIMIT,
            "example_id": name,
            "prompt": [span._asdict() for span in spans],
            "references": ["1501"],
            "metric": "exact",
            "max_new_tokens": NEW_TOKENS,
            "n_tokens": count("".join(texts)),
        }

    instances = []
    for haystack in range(2):
        places = range(haystack * PASSAGES_EACH, (haystack + 1) * PASSAGES_EACH)
        for asked in range(QUESTIONS):
            question = f"\nQuestion: When was house {places[asked]} built?"
            spans = [Span("distractor", f"made/en/{n}", 0, len(passages[n])) for n in places]
            texts = [*(passages[n] for n in places), question]
            instances.append(
                row(f"{haystack}-{asked}", [*spans, literal("question", question)], texts)
            )
    filler = "Nobody lives there."
    while count(filler) < LIMIT - 4:
        filler += " there"
    instances.append(row("long", [literal("haystack", filler)], [filler]))
    table = pa.Table.from_pylist(instances, schema=instances_schema({"length": "int32"}))
    write_table(table, folder / "instances.parquet")
    return folder


def job(folder: Path, made: Path, how: Mapping[str, Any] = {}, **changes: Any) -> Job:
    """The tiny model's job on the instances: `how` it runs, and changes of the model's entry."""
    entry = {
        "backend": "vllm",
        "name": str(made / "model"),
        "tokenizer": "words",
        # More than the engine takes, or `long` would end the job before any request.
        "context": LIMIT + 16,
        "samples": SAMPLES,
        "engine": ENGINE,
        "lengths": {"mlneedle": [512]},
        **changes,
    }
    corpus, instances = made / "corpora/made/en.parquet", made / "instances.parquet"
    return Job(folder, entry, corpus, instances, **how)


def finished(folder: Path, made: Path, how: Mapping[str, Any] = {}, **changes: Any) -> Job:
    """A job that ended well."""
    with job(folder, made, how, **changes) as done:
        said = done.finish()
        assert done.process.returncode == 0, f"{said}\n{done.log()[-5000:]}"
    return done


def answers(table: pa.Table) -> dict[tuple[str, int], dict[str, Any]]:
    """The rows by instance and sample, without what depends on the cache of the moment."""
    return {
        (row["instance_id"], row["sample"]): {k: v for k, v in row.items() if k != "cached_tokens"}
        for row in table.to_pylist()
    }


@pytest.fixture(scope="module")
def undisturbed(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A job that nothing disturbed. It is started as Snakemake does."""
    return finished(tmp_path_factory.mktemp("undisturbed"), made, {"cold": True})


def test_every_prompt_is_answered_stopped_or_cut(undisturbed: Job) -> None:
    rows = [row for row in undisturbed.table().to_pylist() if row["instance_id"] != "long"]
    assert len(rows) == 2 * QUESTIONS * SAMPLES
    assert {row["finish_reason"] for row in rows} == {"stop", "length"}
    assert all(
        (row["completion_tokens"] == NEW_TOKENS) == (row["finish_reason"] == "length")
        for row in rows
    )
    assert all(row["error"] is None for row in rows)


def test_the_samples_of_a_prompt_differ(undisturbed: Job) -> None:
    texts = defaultdict(set)
    for (instance, _), row in answers(undisturbed.table()).items():
        texts[instance].add(row["text"])
    del texts["long"]
    assert all(len(different) == SAMPLES for different in texts.values())


def test_a_shared_prefix_is_computed_once(undisturbed: Job) -> None:
    """Blocks of 128 tokens: a haystack's prompts share one or two, and a prompt's samples too."""
    cached = [row["cached_tokens"] for row in undisturbed.table().to_pylist() if row["text"]]
    assert cached.count(0) == 2, "the first prompt of each haystack alone"
    assert all(tokens >= 128 for tokens in cached if tokens)


def test_a_prompt_that_its_template_makes_too_long_is_skipped(undisturbed: Job) -> None:
    rows = [row for row in undisturbed.table().to_pylist() if row["instance_id"] == "long"]
    assert {row["finish_reason"] for row in rows} == {"skipped"} and len(rows) == SAMPLES
    assert "max_model_len is 512" in rows[0]["error"]
    assert len(undisturbed.records()) == 2 * QUESTIONS * SAMPLES


def test_the_log_shows_the_first_prompt_as_sent(undisturbed: Job) -> None:
    assert (
        "in the chat template of the tokenizer:\n<s>[user] House 0 of Orveld was built in 1500."
        in undisturbed.log()
    )


def test_the_job_records_the_engines_effective_settings(undisturbed: Job) -> None:
    (record,) = Journal(undisturbed.journal / "jobs" / "tiny").records()
    assert record["engine"] == {
        "dtype": "torch.float32",
        "quantization": None,
        "max_model_len": LIMIT,
        "kv_cache_dtype": "torch.float32",
        "prefix_caching": True,
        "max_num_seqs": 1,
        "attention_backend": "CPU_ATTN",
        "batch_invariant": False,
        "ignored": [],
    }
    assert record["overhead_tokens"] > 0


def test_nothing_of_a_finished_job_is_left(undisturbed: Job) -> None:
    assert undisturbed.survivors() == []
    assert "force killing" not in undisturbed.log()


def test_a_second_run_starts_no_engine(undisturbed: Job, made: Path) -> None:
    before, records = answers(undisturbed.table()), undisturbed.records()
    again = finished(undisturbed.folder, made)
    assert "EngineCore" not in again.log()
    assert answers(again.table()) == before and again.records() == records


def test_stops_and_kills_lose_and_double_nothing(
    undisturbed: Job, made: Path, tmp_path: Path
) -> None:
    """Of the run, of the job and of its engine, which starts again once."""
    stop = tmp_path / "stop"
    stop.touch()
    with job(tmp_path / "run", made, {"more": {FILE: str(stop)}}) as stopped:
        stopped.wait_for(lambda: bool(stopped.records()))
        stop.write_text("SIGTERM")
        said = stopped.finish()
        assert stopped.process.returncode == 1 and "stopped by SIGTERM" in said
        assert stopped.survivors() == [] and not (stopped.folder / "answers.parquet").exists()
        kept = stopped.records()
        # All its prompts were with the engine.
        assert 0 < len(kept) < QUESTIONS * SAMPLES
    with job(tmp_path / "run", made) as killed:
        killed.wait_for(lambda: len(killed.records()) > len(kept))
        time.sleep(rng("kill", "job").uniform(0, 0.5))
        killed.kill()
        assert killed.survivors() == [], "the engine outlived its job"
        kept = killed.records()
    # A prompt at a time, and slowly: else all would be answered before the second kill.
    with job(tmp_path / "run", made, {"tokens_ahead": 1, "pause": 0.2}) as dying:
        dying.wait_for(lambda: len(dying.records()) > len(kept))
        dying.kill_engine()
        dying.wait_for(lambda: "it starts again with" in dying.log(), 60)
        again = len(dying.records())
        dying.wait_for(lambda: len(dying.records()) > again)
        dying.kill_engine()
        said = dying.finish(120)
        assert dying.process.returncode == 1
        assert "models.tiny: vLLM's engine died twice" in said and "max_model_len" in said
        assert "'max_num_seqs': 1" in dying.log() and "'gpu_memory_utilization': 0.8" in dying.log()
        assert dying.survivors() == []
        # Each writer has its own file: what was kept is there, unchanged.
        records = {record["key"]: record for record in dying.records()}
        assert all(records[record["key"]] == record for record in kept)
        assert len(records) < 2 * QUESTIONS * SAMPLES, "killed too late"
    resumed = finished(tmp_path / "run", made)
    keys = Counter(record["key"] for record in resumed.records())
    assert len(keys) == 2 * QUESTIONS * SAMPLES and set(keys.values()) == {1}
    assert answers(resumed.table()) == answers(undisturbed.table())


def test_an_adapter_changes_the_answers(undisturbed: Job, made: Path, tmp_path: Path) -> None:
    """And prompts at once do no harm: three ahead in the engine, more tokens than a step takes."""
    changes = {
        "lora": str(made / "adapter"),
        "samples": 1,
        "engine": ENGINE | {"max_num_seqs": 16, "max_num_batched_tokens": LIMIT},
    }
    adapted = finished(tmp_path, made, {"tokens_ahead": 600}, **changes)
    with_it, without = answers(adapted.table()), answers(undisturbed.table())
    shared = [key for key in with_it if key[0] != "long"]
    assert sum(with_it[key]["text"] != without[key]["text"] for key in shared) > 0.9 * len(shared)


def plain(text: str) -> str:
    """A text's ASCII: random bytes are not always text."""
    return re.sub("[^ -~]", "", text)


def test_thoughts_are_no_part_of_an_answer(undisturbed: Job, made: Path, tmp_path: Path) -> None:
    """The model does not think: what it says before some letter stands for thoughts."""
    whole = answers(undisturbed.table())
    whole = {key: row for key, row in whole.items() if row["finish_reason"] == "stop"}
    # Where half of the answers have it, it is as often missing. Marks are found in either case.
    letters = Counter(
        letter
        for row in whole.values()
        for letter in set(re.findall("[a-z]", row["text"][:-1].lower()))
    )
    end = min(letters, key=lambda letter: (abs(letters[letter] - len(whole) / 2), letter))
    thinking = finished(tmp_path, made, reasoning={"max_tokens": 1, "end": end})
    found = answers(thinking.table())
    marked = set()
    for key, row in whole.items():
        thoughts, *rest = re.split(end, row["text"], maxsplit=1, flags=re.IGNORECASE)
        marked.add(bool(rest))
        assert found[key]["completion_tokens"] == row["completion_tokens"]
        if rest:
            behind, said = (plain(text) for text in (rest[0], found[key]["text"]))
            assert behind.strip().endswith(said.strip())
        else:
            assert plain(found[key]["text"]) == plain(thoughts)
        assert (found[key]["reasoning_tokens"] > 0) == bool(rest)
    assert marked == {True, False}
    cut = [
        row
        for key, row in found.items()
        if key[0] != "long" and row["finish_reason"] == "length" and row["text"] == ""
    ]
    assert cut
    # Where the end came at the limit, it is no thought, and nothing is left for an answer.
    assert max(row["reasoning_tokens"] for row in cut) == NEW_TOKENS + 1


def test_a_larger_limit_asks_again_what_a_smaller_one_cut(
    undisturbed: Job, made: Path, tmp_path: Path
) -> None:
    """Raw prompts, the longest of which has room for a few tokens. The benchmark counts in words."""
    found = []
    for limit in (LIMIT, LIMIT + NEW_TOKENS, LIMIT):
        changes = {"chat": False, "samples": 2, "engine": ENGINE | {"max_model_len": limit}}
        done = finished(tmp_path, made, **changes)
        found.append((answers(done.table()), len(done.records())))
    (small, before), (large, after), (again, at_last) = found
    cut = [k for k, row in small.items() if k[0] == "long" and row["finish_reason"] == "length"]
    assert cut and {k for k in small if small[k] != large[k]} == set(cut)
    for key in cut:
        assert small[key]["completion_tokens"] < large[key]["completion_tokens"]
        assert large[key]["text"].startswith(small[key]["text"])
    assert (after, at_last) == (before + len(cut), after) and again == small
    # Of the template: a space after [user], and what stands around the role of the answer.
    chat = answers(undisturbed.table())
    shared = [key for key in small if key[0] != "long"]
    added = {chat[key]["prompt_tokens"] - small[key]["prompt_tokens"] for key in shared}
    assert len(added) == 1 and min(added) > 0
    assert sum(small[key]["text"] != chat[key]["text"] for key in shared) > 0.9 * len(shared)
    assert all(
        small[key]["prompt_tokens"] + small[key]["completion_tokens"] <= LIMIT for key in cut
    )


def test_an_engine_that_cannot_start_says_so(made: Path, tmp_path: Path) -> None:
    (tmp_path / "torn").mkdir()
    for file in (made / "model").iterdir():
        content = file.read_bytes()
        torn = content[:1_000_000] if file.suffix == ".safetensors" else content
        (tmp_path / "torn" / file.name).write_bytes(torn)
    with job(tmp_path / "job", made, name=str(tmp_path / "torn")) as failing:
        said = failing.finish()
        assert failing.process.returncode == 1
        assert "models.tiny: vLLM cannot start" in said and "the log" in said
        assert "incomplete" in failing.log().lower()
        assert failing.survivors() == []


# Settings as the engine has them

RUNNING = """
import json, os, sys
sys.path.append(sys.argv[1])
from needlework.given import given
from needlework.models.backends.vllm import VllmBackend
from vllm import LLMEngine

backend = VllmBackend(given({"repeatable": True, "template": {}, "stop": [], "system": None,
                "answer_prefix": None, "name": sys.argv[2], "revision": None, "chat": True,
                "chat_template": None, "reasoning": None, "lora": None, "trust_remote_code": False,
                "variant": None, "engine": json.loads(sys.argv[3])}), "tiny", "journal")
backend.load()
recorded = backend.settings()
def look(worker):
    runner = worker.model_runner
    (groups,) = runner.attn_groups
    return {
        "dtype": str(next(runner.model.parameters()).dtype),
        "kv_cache_dtype": str(runner.kv_caches[0].dtype),
        "attention_backend": groups[0].backend.get_name(),
        "max_num_seqs": runner.max_num_reqs,
        "batch_invariant": os.environ["VLLM_BATCH_INVARIANT"] == "1",
    }

# In this process, whose executor hands functions on to its worker.
os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
engine = LLMEngine.from_vllm_config(backend._settings)
(found,) = engine.model_executor.collective_rpc(look)
print("FOUND", json.dumps([recorded, found]))
engine.model_executor.shutdown()
"""


def test_recorded_settings_are_those_of_the_running_engine(made: Path, tmp_path: Path) -> None:
    arguments = {
        "dtype": "bfloat16",
        "enforce_eager": True,
        "max_model_len": LIMIT,
        "max_num_seqs": 3,
    }
    said = run(RUNNING, SCRIPTS, made / "model", json.dumps(arguments), folder=tmp_path)
    line = next(line for line in said.splitlines() if line.startswith("FOUND "))
    recorded, found = json.loads(line.removeprefix("FOUND "))
    assert {name: recorded[name] for name in found} == found
    assert found["dtype"] == "torch.bfloat16" and found["batch_invariant"] is True


# What is refused before any weights are loaded

REFUSALS = """
import json, sys
sys.path.append(sys.argv[1])
from needlework.given import given
from needlework.models.backends.vllm import VllmBackend
from needlework.errors import UserError

plain = {"repeatable": False, "template": {}, "stop": [], "variant": None,
         "system": None, "answer_prefix": None, "name": sys.argv[2], "revision": None, "chat": True,
         "chat_template": None, "reasoning": None, "engine": {}, "lora": None, "trust_remote_code": False,
         "sampling": {"temperature": 0, "top_k": None, "top_p": 1, "seed": 0}}
found = {}
for name, changes in json.loads(sys.argv[3]).items():
    backend = VllmBackend(given({**plain, **changes}), "tiny", "journal")
    try:
        backend.identity()
        backend.load()
        found[name] = backend._settings.model_config.max_model_len
    except UserError as error:
        found[name] = str(error)
print("FOUND", json.dumps(found))
"""


@pytest.fixture(scope="module")
def loaded(made: Path) -> dict[str, Any]:
    """What `load` says to several models: an error's message, or the context in tokens."""
    (made / "untemplated").mkdir()
    for file in (made / "model").iterdir():
        if file.name != "chat_template.jinja":
            (made / "untemplated" / file.name).symlink_to(file)
    (made / "broken.jinja").write_text("{{ raise_exception('no user') }}", encoding="utf-8")
    rope = {"rope_type": "dynamic", "factor": 4, "rope_theta": 10000}
    yarn = {**rope, "rope_type": "yarn", "original_max_position_embeddings": 2048}
    cases = {
        "right": {},
        "shorter": {"engine": {"max_model_len": 1000}},
        "ntk": {"engine": {"hf_overrides": {"rope_parameters": rope}}},
        "yarn": {
            "engine": {"hf_overrides": {"rope_parameters": yarn, "max_position_embeddings": 8192}}
        },
        "no folder": {"name": str(made / "absent")},
        "no model": {"name": "nobody/nothing", "revision": "0" * 40},
        "no argument": {"engine": {"max_model_length": 1000}},
        "too long": {"engine": {"max_model_len": 100000}},
        "not quantized": {"engine": {"quantization": "awq"}},
        "no heads": {"engine": {"tensor_parallel_size": 3}},
        "no template": {"name": str(made / "untemplated")},
        "base model": {"name": str(made / "untemplated"), "chat": False},
        "no template file": {"chat_template": str(made / "absent.jinja")},
        "broken template": {"chat_template": str(made / "broken.jinja")},
    }
    said = run(REFUSALS, SCRIPTS, made / "model", json.dumps(cases), folder=made)
    assert "EngineCore" not in said
    line = next(line for line in said.splitlines() if line.startswith("FOUND "))
    return json.loads(line.removeprefix("FOUND "))


@pytest.mark.parametrize(
    ("case", "context"),
    [("right", 2048), ("base model", 2048), ("shorter", 1000), ("ntk", 8192), ("yarn", 8192)],
)
def test_the_context_is_the_models_or_the_engines(
    loaded: dict[str, Any], case: str, context: int
) -> None:
    assert loaded[case] == context


@pytest.mark.parametrize(
    ("case", "messages"),
    [
        ("no folder", ["/absent cannot be loaded", "HF_TOKEN", "local folder"]),
        ("no model", ["nobody/nothing cannot be loaded", "accept its licence", "HF_HOME"]),
        ("no argument", ["engine.max_model_length is not an argument", "'max_model_len'"]),
        ("too long", ["max_model_len (100000) is greater", "`engine`"]),
        ("not quantized", ["config file for awq"]),
        ("no heads", ["divisible by tensor parallel size (3)"]),
        ("no template", ["chat template", "`chat: false`"]),
        ("no template file", ["models.tiny.chat_template: ", "absent.jinja", "correct the path"]),
        ("broken template", ["no user", "`chat_template`"]),
    ],
)
def test_what_cannot_be_loaded_is_said_in_a_sentence(
    loaded: dict[str, Any], case: str, messages: list[str]
) -> None:
    said = loaded[case]
    assert said.startswith("models.tiny") and said.endswith((".", "?")) and "\n" not in said
    assert all(message in said for message in messages), said


# The doctor


def test_a_setting_is_told_from_its_floor(made: Path, tmp_path: Path) -> None:
    """Weights in bfloat16 against float32, each asked in a run's order and again in another."""
    greedy = {"samples": 1, "sampling": {"temperature": 0}}
    texts, engines = {}, {}
    for name, dtype in (("base", "float32"), ("changed", "bfloat16")):
        engine = ENGINE | {"dtype": dtype, "max_num_seqs": 8}
        for turn, place in (("first", "jobs"), ("again", "audits/jobs")):
            done = finished(tmp_path / name, made, {"turn": turn}, engine=engine, **greedy)
            rows = sorted(done.table().to_pylist(), key=lambda row: row["instance_id"])
            texts[name, turn] = np.array([row["text"] for row in rows])
            (record,) = Journal(done.journal / place / "tiny").records()
            engines[name, turn] = record["engine"]
    assert [engine["dtype"] for engine in engines.values()] == ["torch.float32"] * 2 + [
        "torch.bfloat16"
    ] * 2
    assert [engine["max_num_seqs"] for engine in engines.values()] == [8, 4, 8, 4]
    assert not any(engine["ignored"] for engine in engines.values())
    # The second answers came from the engine, and not from the journal of the first.
    # Of two models.
    again = (done.journal / "audits/generations").iterdir()
    assert sum(len(list(Journal(folder).records())) for folder in again) == 2 * QUESTIONS
    d = excess(*(texts[name, turn] for name in ("base", "changed") for turn in ("first", "again")))
    assert d.mean() > 0.2
