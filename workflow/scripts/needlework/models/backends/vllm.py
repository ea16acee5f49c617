"""vLLM's offline engine: one for each job, with prefix caching, restarted once if it dies.

The engine is a process of its own, so its death does not end the job.
"""

from __future__ import annotations

import difflib
import logging
import os
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from itertools import chain
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from needlework.errors import UserError, reason
from needlework.jobs.guard import descendants, end, start_guard
from needlework.jobs.stop import stopping
from needlework.journal import Record
from needlework.models.backends.base import Answer, Backend, Request, in_order, sample_seed
from needlework.models.engine_arguments import answer_arguments, ignored
from needlework.models.local_models import (
    encode,
    form,
    former_identity,
    local_regime,
    new_tokens,
    read_chat_template,
    reasoning_identity,
    template_check,
    thoughts,
    warn_if_unpinned,
    weights_identity,
    with_thoughts,
)

if TYPE_CHECKING:
    from needlework.models.backends import vllm_settings

logger = logging.getLogger("needlework")

# The most prompts, and the most tokens of them, that are with the engine, running or waiting: they fill any
# GPU, and little memory here. Short prompts reach the first limit, prompts of over 500 tokens the second.
PROMPTS_AHEAD, TOKENS_AHEAD = 4096, 2_000_000

# The shares of memory and of concurrent prompts with which an engine that died is restarted.
LESS_MEMORY, FEWER_PROMPTS = 0.9, 0.5

# After this number of seconds, an engine that has not ended is killed.
SHUTDOWN_SECONDS = 30


class VllmBackend(Backend):
    """A model of the hub or of a local folder (key `name`), run by vLLM in this job.

    `chat` puts each prompt into the tokenizer's chat template, or into the one in the file
    `chat_template`; without it the prompt is sent as it is. `engine` is handed to vLLM.
    """

    config: vllm_settings.Vllm

    def __init__(self, config: vllm_settings.Vllm, model: str, journal: str | Path) -> None:
        super().__init__(config, model, journal)
        self._arguments: dict[str, Any] = {}
        self._settings: Any = None
        self._tokenizer: Any = None
        self._engine: Any = None
        self._lora: Any = None
        self._processes: list[Any] = []
        self._guard: subprocess.Popen[bytes] | None = None
        self._restarted = False

    def identity(self) -> Mapping[str, object]:
        """The weights, the chat template, sampling, and the engine arguments that change answers."""
        config = self.config
        engine = answer_arguments(dict(config.engine))
        # It changes only the answers of prompts near the limit: see `holds`.
        engine.pop("max_model_len", None)
        return {
            "backend": "vllm",
            "weights": weights_identity(config.name, config.revision),
            "lora": config.lora and weights_identity(config.lora, None),
            "chat": config.chat,
            "chat_template": self._template,
            "sampling": dict(config.sampling),
            "engine": engine,
            **reasoning_identity(config.reasoning),
            **local_regime(config),
        }

    def former_identity(self) -> Mapping[str, object] | None:
        """The identity of older records, which held the mark at the end of reasoning."""
        return former_identity(self.config.reasoning, self.identity())

    def holds(self, record: Record) -> bool:
        """Whether a kept answer is still valid under the engine's `max_model_len`.

        The answer itself tells, in the model's own tokens. The limit is no part of the key, since no other
        count is close enough. The benchmark's tokens are not the model's, and a bound such as the prompt's
        bytes passes the limit at about a fourth of its tokens. So a new limit would invalidate most long
        prompts, even prompts that no limit had cut.
        """
        limit = dict(self.config.engine).get("max_model_len")
        if record.get("cut_at") is not None:
            return record["cut_at"] == limit
        # An answer from a larger limit may be one that this limit cuts, or skips. If vLLM chooses the limit,
        # it is -1, or not a number.
        taken = record.get("prompt_tokens", 0) + record.get("completion_tokens", 0)
        return not isinstance(limit, int) or limit < 0 or taken <= limit

    def load(self) -> None:
        """Read the model's configuration and tokenizer; the engine starts with the first prompt.

        So if all missing prompts exceed the context, no weights are loaded.
        """
        # An engine inside this process could not be restarted; and usage statistics stay off.
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "1"
        os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
        config = self.config
        if config.repeatable:
            os.environ["VLLM_BATCH_INVARIANT"] = "1"
        self._arguments = {
            "enable_prefix_caching": True,
            # Plain dictionaries in all depths.
            **deepcopy(dict(config.engine)),
            "model": config.name,
            "revision": config.revision,
            "trust_remote_code": config.trust_remote_code,
            "enable_lora": config.lora is not None,
        }
        warn_if_unpinned(self.where, config.name, config.revision)
        self._read_settings()
        with template_check(self.where, config.name):
            self._tokens("?")

    def generate(self, batch: Sequence[Request]) -> Iterator[Answer]:
        """Yield the answers in the requests' order, each as soon as it and all earlier ones are known.

        Raises UserError if the engine cannot start, or dies twice.
        """
        return in_order(self.answers(batch))

    def close(self) -> None:
        """End the engine and wait for its end."""
        self._stop()
        if self._guard is not None:
            self._guard.terminate()
            self._guard.wait()
            self._guard = None

    # Requests

    def answers(self, requests: Iterable[Request]) -> Iterator[tuple[int, Answer]]:
        """The answers with their places, as they finish. Raises as `generate` does."""
        from vllm.v1.engine.exceptions import EngineDeadError

        unsent: Iterator[tuple[int, Request]] = enumerate(requests)
        while True:
            sent: dict[int, Request] = {}
            try:
                yield from self._finish(unsent, sent)
                return
            except EngineDeadError as error:
                self._restart(error)
            unsent = chain(sent.items(), unsent)

    def _finish(
        self, unsent: Iterator[tuple[int, Request]], sent: dict[int, Request]
    ) -> Iterator[tuple[int, Answer]]:
        """The answers to unsent requests. `sent` holds those with the engine, in case it dies.

        If the run is being stopped, these are dropped: thousands may wait in the engine.
        """
        ahead = 0
        while not stopping():
            room = len(sent) < PROMPTS_AHEAD and ahead < TOKENS_AHEAD
            if room and (following := next(unsent, None)):
                place, request = following
                sent[place] = request
                tokens = self._tokens(request.prompt)
                refusal = self._send(str(place), request, tokens)
                if refusal is None:
                    ahead += len(tokens)
                else:
                    del sent[place]
                    yield place, refusal
            elif sent:
                for output in self._engine.step():
                    place = int(output.request_id)
                    ahead -= len(output.prompt_token_ids)
                    yield place, self._answer(sent.pop(place), output)
            else:
                return

    def _send(self, name: str, request: Request, tokens: list[int]) -> Answer | None:
        """Hand a prompt to the engine, which is started if needed; an answer if it is not sent."""
        from vllm import SamplingParams
        from vllm.exceptions import VLLMClientError
        from vllm.inputs import tokens_input
        from vllm.sampling_params import RequestOutputKind

        limit = self._settings.model_config.max_model_len
        if len(tokens) >= limit:
            return Answer(
                "",
                "skipped",
                error=f"the prompt has {len(tokens)} tokens as the model gets it, the engine's "
                f"max_model_len is {limit}",
            )
        if self._engine is None:
            logger.info(
                "The first prompt, %s:\n%s", form(self.config), self._tokenizer.decode(tokens)
            )
            self._start()
        sampling = self.config.sampling
        parameters = SamplingParams(
            temperature=sampling.temperature,
            top_k=sampling.top_k or 0,
            top_p=sampling.top_p,
            seed=sample_seed(sampling.seed, request.prompt, request.sample),
            max_tokens=min(new_tokens(self.config.reasoning, request), limit - len(tokens)),
            stop=list(self.config.stop),
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
        try:
            self._engine.add_request(
                name, tokens_input(tokens), parameters, lora_request=self._lora
            )
        except VLLMClientError as error:
            return Answer("", error=reason(error))
        return None

    def _answer(self, request: Request, output: Any) -> Answer:
        """The answer in a finished output of vLLM's."""
        (completion,) = output.outputs
        ended, new = completion.finish_reason, len(completion.token_ids)
        if ended not in ("stop", "length"):
            return Answer("", error=f"the engine ended the request with {ended!r}")
        # If the model's own context cuts it, no `max_model_len` would give more.
        limit = dict(self.config.engine).get("max_model_len")
        cut = (
            limit is not None
            and ended == "length"
            and new < new_tokens(self.config.reasoning, request)
        )
        answer = Answer(
            completion.text,
            ended,
            prompt_tokens=len(output.prompt_token_ids),
            cached_tokens=output.num_cached_tokens,
            completion_tokens=new,
            cut_at=limit if cut else None,
        )
        # The token that ends an answer is not part of its text.
        tokens = list(completion.token_ids)[: -1 if ended == "stop" else None]
        return with_thoughts(self._tokenizer, tokens, answer, self.config)

    def settings(self) -> dict[str, object]:
        """The effective engine arguments, and whether answers depend on their batch."""
        import vllm.envs

        model, cache = self._settings.model_config, self._settings.cache_config
        effective = {
            "dtype": model.dtype,
            "quantization": model.quantization,
            "max_model_len": model.max_model_len,
            "kv_cache_dtype": model.dtype if cache.cache_dtype == "auto" else cache.cache_dtype,
            "prefix_caching": cache.enable_prefix_caching,
            "max_num_seqs": self._settings.scheduler_config.max_num_seqs,
            "attention_backend": self._attention(),
            "batch_invariant": vllm.envs.VLLM_BATCH_INVARIANT,
        }
        found: dict[str, object] = {
            name: value if isinstance(value, bool | int | None) else str(value)
            for name, value in effective.items()
        }
        given = dict(self.config.engine)
        return {
            **found,
            "ignored": ignored(given, found, {"enable_prefix_caching": ("prefix_caching",)}),
        }

    def _attention(self) -> str | None:
        """The attention backend that vLLM selects for full attention; None for what has no such layers."""
        from vllm.config import set_current_vllm_config
        from vllm.v1.attention.selector import get_attn_backend

        model, cache = self._settings.model_config, self._settings.cache_config
        try:
            with set_current_vllm_config(self._settings):
                chosen = get_attn_backend(
                    model.get_head_size(), model.dtype, cache.cache_dtype, use_mla=model.use_mla
                )
        except (AttributeError, NotImplementedError, ValueError) as error:
            logger.warning("vLLM names no attention backend: %s", reason(error))
            return None
        return str(chosen.get_name())

    def overhead(self) -> int:
        """The tokens of the chat template, of the answer's beginning, and of reasoning."""
        plain = self._tokenizer.encode("?", add_special_tokens=False)
        return len(self._tokens("?")) - len(plain) + thoughts(self.config.reasoning)

    def as_sent(self, prompt: str) -> tuple[str, str]:
        """The prompt in the chat template, with the special tokens that the model sees."""
        return form(self.config), self._tokenizer.decode(self._tokens(prompt))

    def _tokens(self, prompt: str) -> list[int]:
        """The prompt as the model gets it. A chat template brings its own first token."""
        return encode(self._tokenizer, prompt, self.config, self._template, self.where)

    @cached_property
    def _template(self) -> str | None:
        """The chat template in the file `chat_template`; None is the tokenizer's own."""
        return read_chat_template(self.config.chat_template, self.where)

    # The engine

    def _read_settings(self) -> None:
        """Make vLLM's configuration of the engine arguments, and the tokenizer; read no weights."""
        try:
            from vllm import EngineArgs
            from vllm.platforms import current_platform
            from vllm.tokenizers.registry import cached_tokenizer_from_config
        except ImportError as error:
            raise UserError(
                f"{self.where}: the package {error.name!r} is not installed; run with --use-conda, or "
                "in an environment that holds vLLM (envs/vllm.yaml)."
            ) from None
        if current_platform.is_unspecified():
            raise UserError(
                f"{self.where}: vLLM finds no GPU here: run the job where one is (`nvidia-smi` lists it), or "
                "choose the backend `openvino`, which needs none."
            )
        if current_platform.is_cpu():
            # On a CPU, vLLM 0.32 dies if it prefills a prompt with a seed in chunks.
            self._arguments.setdefault("enable_chunked_prefill", False)
        known = EngineArgs.__dataclass_fields__
        for argument in self._arguments:
            if argument not in known:
                near = difflib.get_close_matches(argument, known, n=1, cutoff=0)
                raise UserError(
                    f"{self.where}.engine.{argument} is not an argument of vLLM's engine: did you mean "
                    f"{near[0]!r}?"
                )
        try:
            self._settings = EngineArgs(**self._arguments).create_engine_config()
            self._tokenizer = cached_tokenizer_from_config(self._settings.model_config)
        except Exception as error:  # each library has its own; none of them is the user's to know
            raise UserError(
                f"{self.where}: {self.config.name} cannot be loaded: {reason(error)}. Check `name`, "
                "`revision` and `engine`; for a gated model, accept its licence on the hub and set "
                "HF_TOKEN; without internet, set `name` to a local folder, or HF_HOME to a cache that "
                "holds the model."
            ) from error

    def _start(self) -> None:
        """Start the engine: load the weights, and the LoRA adapter if there is one."""
        import psutil
        from vllm import LLMEngine
        from vllm.lora.request import LoRARequest

        if self._guard is None:
            self._guard = start_guard()
        try:
            self._engine = LLMEngine.from_vllm_config(self._settings, disable_log_stats=True)
            _announce_death(self._engine)
            if self.config.lora:
                self._lora = LoRARequest("adapter", 1, self.config.lora)
                self._engine.add_lora(self._lora)
        except Exception as error:  # the engine's process hands on its own
            raise UserError(
                f"{self.where}: vLLM cannot start {self.config.name}: {reason(error)}. Its cause is "
                "in the log; most often memory: lower `engine: {max_model_len: ...}` or "
                "`gpu_memory_utilization`, or raise `tensor_parallel_size`."
            ) from error
        finally:
            self._processes = descendants(psutil.Process())

    def _restart(self, error: Exception) -> None:
        """Start the engine once more, with less memory for its cache and fewer prompts at once."""
        if self._restarted:
            raise UserError(
                f"{self.where}: vLLM's engine died twice, the second time with less memory: the cause is "
                "in the log; lower `engine: {max_model_len: ..., max_num_seqs: ..., "
                "gpu_memory_utilization: ...}`, or raise `tensor_parallel_size`. The answers until "
                "then are in the journal."
            ) from error
        self._restarted = True
        self._stop()
        cache, scheduler = self._settings.cache_config, self._settings.scheduler_config
        less = {
            "gpu_memory_utilization": LESS_MEMORY * cache.gpu_memory_utilization,
            "max_num_seqs": max(1, int(FEWER_PROMPTS * scheduler.max_num_seqs)),
        }
        if cache.kv_cache_memory_bytes is not None:
            less["kv_cache_memory_bytes"] = int(LESS_MEMORY * cache.kv_cache_memory_bytes)
        logger.warning("%s: vLLM's engine died; it starts again with %s.", self.where, less)
        self._arguments |= less
        self._read_settings()
        self._start()

    def _stop(self) -> None:
        """End the engine, dead or alive, and wait for its processes: they hold the memory."""
        if self._engine is not None:
            self._engine.engine_core.shutdown(timeout=SHUTDOWN_SECONDS)
            self._engine = None
        if self._processes:
            end(self._processes, SHUTDOWN_SECONDS)
            self._processes = []


def _announce_death(engine: Any) -> None:
    """Make `engine.step()` raise EngineDeadError if the engine's process is killed.

    vLLM 0.32 notices that by itself, but leaves `step()` waiting for an output for ever.
    """
    from vllm.v1.engine.exceptions import EngineDeadError

    client = engine.engine_core

    def watch() -> None:
        while not client.resources.engine_dead:
            time.sleep(0.2)
        client.outputs_queue.put(EngineDeadError())

    Thread(target=watch, name="engine-watch", daemon=True).start()


BACKEND = VllmBackend
