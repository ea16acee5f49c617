"""Arguments of vLLM's and OpenVINO's engines (a model's key `engine`): which of them change answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from needlework.models.settings import AnyModel
    from needlework.settings.models import Engine
    from needlework.settings.tokenizers import Tokenizer


# How a model decodes, in words: a paper's number holds for one way of decoding.

GREEDY = "greedy"
_NAMES = {"temperature": "temperature", "top_k": "top-k", "top_p": "top-p"}


def decoding(entry: AnyModel) -> str:
    """The values with which a model of the configuration is sampled; GREEDY if it is not.

    Fields of `request` override `sampling`, as they do at the endpoint. If the temperature is null, the
    endpoint chooses.
    """
    request = dict(entry.request) if entry.backend == "openai" else {}
    values = {**dict(entry.sampling), **request}
    if values["temperature"] is None:
        return "the endpoint's own"
    if values["temperature"] == 0:
        return GREEDY
    return ", ".join(f"{_NAMES[key]} {values[key]:g}" for key in _NAMES if values[key] is not None)


# Texts of a model's entry that no paper adds to its prompts and answers.
_ADDED = {"system": "a system prompt", "answer_prefix": "a begun answer", "stop": "stop strings"}


# The share of a length up to which a tokenizer's `reserve` is room for a chat template.
_TEMPLATE = 0.01


def unlike_papers(entry: AnyModel, tokenizer: Tokenizer, lengths: Sequence[int]) -> list[str]:
    """Descriptions of how a model is asked otherwise than in any paper.

    `lengths` are the run's lengths in tokens.
    """
    said = [f"{words}, in the paper none" for key, words in _ADDED.items() if dict(entry).get(key)]
    if lengths and tokenizer.kind in ("words", "characters"):
        said.append(f"lengths are in {tokenizer.kind}, in the paper tokens")
    if lengths and tokenizer.reserve > _TEMPLATE * min(lengths):
        said.append(f"reserve is {tokenizer.reserve}, in the paper 0")
    return said


# An argument that is not listed here counts as changing answers: a forgotten one costs time, not truth.
# Rounding depends on all of these a little, and does not count.
_SPEED = frozenset(
    """
    tensor_parallel_size pipeline_parallel_size distributed_executor_backend enable_expert_parallel
    disable_custom_all_reduce max_parallel_loading_workers nnodes node_rank master_addr master_port
    gpu_memory_utilization kv_cache_memory_bytes cpu_offload_gb num_gpu_blocks_override block_size
    max_num_seqs max_num_batched_tokens long_prefill_token_threshold enable_chunked_prefill
    enable_prefix_caching prefix_caching_hash_algo async_scheduling scheduling_policy
    enforce_eager compilation_config disable_cascade_attn
    download_dir safetensors_load_strategy use_tqdm_on_load
    max_loras max_cpu_loras max_lora_rank fully_sharded_loras
    disable_log_stats log_level

    cache_size num_kv_blocks dynamic_split_fuse cache_interval_multiplier
    INFERENCE_NUM_THREADS NUM_STREAMS PERFORMANCE_HINT SCHEDULING_CORE_TYPE ENABLE_HYPER_THREADING
    ENABLE_CPU_PINNING CACHE_DIR
    """.split()
)

# Arguments that another key of the model sets, that must not stand in a file, or that one job cannot do.
ELSEWHERE = {
    "model": "the key `name`",
    "revision": "the key `revision`",
    "trust_remote_code": "the key `trust_remote_code`",
    "enable_lora": "the key `lora`",
    "hf_token": "the environment variable HF_TOKEN",
    "data_parallel_size": "`tensor_parallel_size`: a job has one engine",
}


def answer_arguments(engine: Mapping[str, object]) -> dict[str, object]:
    """The engine arguments on which a model's answers depend."""
    return {name: value for name, value in engine.items() if name not in _SPEED}


# Other names of the same values.
_SAME = {"half": "float16", "float": "float32", "fp8": "fp8_e4m3"}


def ignored(
    given: Mapping[str, object],
    effective: Mapping[str, object],
    sets: Mapping[str, tuple[str, ...]],
) -> list[str]:
    """Descriptions of settings that an engine was given but does not use, by its effective settings.

    `sets` maps settings to the effective settings that have other names. A setting never counts as ignored if
    its value leaves the choice to the engine, or if the engine does not report it.
    """
    said = []
    for name, wanted in given.items():
        used = {n: effective[n] for n in sets.get(name, (name,)) if n in effective}
        other = {n: v for n, v in used.items() if _value(v) != _value(wanted)}
        if other and _value(wanted) not in ("auto", "none", "-1"):
            shown = ", ".join(f"{n} is {v}" for n, v in other.items())
            said.append(f"{name}: {wanted} was ignored: {shown}")
    return said


def _value(value: object) -> str:
    text = str(value).lower().removeprefix("torch.")
    return _SAME.get(text, text)


def gpus(engine: Engine) -> int:
    """How many GPUs an engine takes: its pipeline's stages times the GPUs of each."""
    return engine.pipeline_parallel_size * engine.tensor_parallel_size


def judging(entry: AnyModel) -> dict[str, Any]:
    """Changes to a judge's entry: temperature 0, one sample, and failures never end its job.

    A temperature of null stays null, in `sampling` and in `request`, since the endpoint may accept none.
    """
    sampling = dict(entry.sampling)
    if sampling["temperature"] is not None:
        sampling["temperature"] = 0
    return {"sampling": sampling, "samples": 1, "max_failed": 1 << 30}
