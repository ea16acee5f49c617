"""OpenVINO GenAI: GGUF files and OpenVINO folders on a laptop's processor, with prefix caching.

The engine is in this process, and sends nothing (`openvino_runtime`).
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from needlework.errors import UserError, not_installed, reason
from needlework.journal import Record
from needlework.models.backends.base import Answer, InAnyOrder, Request, sample_seed
from needlework.models.backends.openvino.engines import EndedPrompt, OpenvinoEngine
from needlework.models.control_tokens import CONTROL_TEXT, control_texts, pieces
from needlework.models.engine_arguments import answer_arguments, ignored
from needlework.models.local_models import (
    check_template,
    form,
    local_regime,
    new_tokens,
    read_chat_template,
    reasoning_identity,
    template_check,
    template_text,
    template_variables,
    thoughts,
    warn_of_template,
    weights_identity,
    with_fixed_date,
    with_thoughts,
    without_stop,
)
from needlework.prompts.openvino_runtime import genai, runtime
from needlework.prompts.spans import messages

if TYPE_CHECKING:
    from needlework.models.backends.openvino import settings

logger = logging.getLogger("needlework")

# In the mode PERFORMANCE, OpenVINO computes in bfloat16 if the processor has it, with a cache of 8 bits:
# answers then depend on the other prompts of the batch and on the machine.
# ACCURACY alone leaves the precision to each kernel ("dynamic"): processors with AVX512-FP16 then compute in
# float16, at a quarter of the speed.
_ACCURACY = {"EXECUTION_MODE_HINT": "ACCURACY"}
_PRECISION = {"INFERENCE_PRECISION_HINT": "f32"}
# For prompts and answers, in GB. It is taken as it is needed.
_CACHE_GB = 2
# Of a prompt, in one step. In OpenVINO's own 256, 1,080 tokens took a sixth more processor time.
_TOKENS_AT_ONCE = 4096
# The effective settings of a device that a job records, if the device knows them.
_RECORDED = (
    *("FULL_DEVICE_NAME", "EXECUTION_MODE_HINT", "INFERENCE_PRECISION_HINT"),
    *(
        "KEY_CACHE_PRECISION",
        "VALUE_CACHE_PRECISION",
        "KEY_CACHE_GROUP_SIZE",
        "VALUE_CACHE_GROUP_SIZE",
    ),
    *("DYNAMIC_QUANTIZATION_GROUP_SIZE", "INFERENCE_NUM_THREADS"),
)
# A setting that is to set others: what counts is what these became.
_SETS = {"KV_CACHE_PRECISION": ("KEY_CACHE_PRECISION", "VALUE_CACHE_PRECISION")}


class OpenvinoBackend(InAnyOrder):
    """A GGUF file or an OpenVINO folder (key `name`), run by OpenVINO GenAI in this job on a CPU or GPU.

    `chat` puts each prompt into the model's chat template, or into the one in the file `chat_template`.
    `batch_size` prompts are answered at once, but only one if tokens are sampled, as the engine has one
    source of random numbers. `engine` has settings of the scheduler (lower case) and of the device (upper
    case).
    """

    config: settings.Openvino

    def __init__(self, config: settings.Openvino, model: str, journal: str | Path) -> None:
        super().__init__(config, model, journal)
        self._tokenizer: Any = None
        self._engine: OpenvinoEngine | None = None

    def identity(self) -> Mapping[str, object]:
        """The weights, the chat template, sampling, and the engine settings that change answers."""
        return {
            "backend": "openvino",
            "weights": weights_identity(self._name, None),
            "chat": self.config.chat,
            "chat_template": self._template,
            "sampling": dict(self.config.sampling),
            "engine": answer_arguments(self._precision | dict(self.config.engine)),
            **reasoning_identity(self.config.reasoning),
            **local_regime(self.config),
        }

    def former_identity(self) -> Mapping[str, object] | None:
        """The identity of older records, which name no precision.

        It was float32 if the device does not compute in float16.
        """
        if not self._precision or "FP16" in self._capabilities():
            return None
        return {**self.identity(), "engine": answer_arguments(dict(self.config.engine))}

    def holds(self, record: Record) -> bool:
        """Whether a kept answer is still valid under the model's `context`."""
        limit = self.config.context
        if record.get("cut_at") is not None:
            return record["cut_at"] == limit
        return record.get("prompt_tokens", 0) + record.get("completion_tokens", 0) <= limit

    def load(self) -> None:
        """Read the tokenizer; the weights come with the first prompt.

        So if all missing prompts exceed the context, no weights are loaded.
        """
        try:
            self._tokenizer = genai().Tokenizer(self._name)
        except ImportError as error:
            raise not_installed(self.where, error) from None
        except Exception as error:  # the library's own
            raise self._unloadable(error) from error
        with template_check(self.where, self.config.name):
            self._text("?")

    def answers(self, requests: Iterable[Request]) -> Iterator[tuple[int, Answer]]:
        """The answers with their places, as they finish."""
        unsent = enumerate(requests)
        running: dict[int, tuple[Request, int]] = {}
        while True:
            room = len(running) < self._at_once
            if room and (following := next(unsent, None)):
                place, request = following
                tokens = self._tokens(request.prompt)
                if tokens.shape[1] >= self.config.context:
                    yield place, self._too_long(tokens.shape[1])
                    continue
                running[place] = (request, tokens.shape[1])
                self._send(place, request, tokens)
            elif not running:
                return
            for place, ended in self._started.ended():
                yield place, self._answer(*running.pop(place), ended)

    def close(self) -> None:
        """Free the memory."""
        self._engine = self._tokenizer = None

    def as_sent(self, prompt: str) -> tuple[str, str]:
        """The prompt in the chat template, with the special tokens that the model sees."""
        tokens = self._tokens(prompt).data[0].tolist()
        return form(self.config), self._tokenizer.decode(tokens, skip_special_tokens=False)

    def overhead(self) -> int:
        """The tokens of the chat template, of the answer's beginning, and of reasoning."""
        plain = self._tokenizer.encode("?", add_special_tokens=False).input_ids.shape[1]
        return self._tokens("?").shape[1] - plain + thoughts(self.config.reasoning)

    def settings(self) -> dict[str, object]:
        """The device's effective settings (formats, cache, threads)."""
        given = self._split_engine()[1]
        openvino = runtime()
        opset13 = openvino.opset13
        nothing = opset13.parameter([1], name="x")
        model = openvino.Model([opset13.result(nothing)], [nothing], "settings")
        compiled = openvino.Core().compile_model(model, self._device, given)
        known = set(compiled.get_property("SUPPORTED_PROPERTIES"))
        # A GPU has one precision for keys and values.
        recorded = [*_RECORDED, *(n for n in _SETS if "KEY_CACHE_PRECISION" not in known)]
        effective = {n: _word(compiled.get_property(n)) for n in recorded if n in known}
        return {
            "device": self._device,
            "prompts_at_once": self._at_once,
            "scheduler": self._scheduler().to_string(),
            **effective,
            "ignored": ignored(given, effective, _SETS),
        }

    # Requests

    def _text(self, prompt: str) -> str:
        """The prompt in the chat template, and the beginning of the answer."""
        text = prompt
        if self.config.chat:
            special = {
                f"{name}_token": getattr(self._tokenizer, f"get_{name}_token")()
                for name in ("bos", "eos", "pad")
            }
            jinja = self._jinja or template_text(self._tokenizer, None)
            check = check_template(self.config, prompt, jinja, special, self.where)
            text = self._tokenizer.apply_chat_template(
                messages(prompt, self.config.system),
                add_generation_prompt=True,
                chat_template=self._jinja,
                extra_context=template_variables(self.config.template),
            )
            check(text)
        return text + (self.config.answer_prefix or "")

    def _tokens(self, prompt: str) -> Any:
        """The prompt as the model gets it, a tensor (1, n). A chat template brings its first token."""
        own, text = not self.config.chat, self._text(prompt)
        parts = pieces(text, prompt, self._controls)
        if parts is None:
            warn_of_template()
        if parts is None or len(parts) == 1:
            return self._tokenizer.encode(text, add_special_tokens=own).input_ids
        first, *others = [
            self._tokenizer.encode(part, add_special_tokens=own and not n).input_ids.data[0]
            for n, part in enumerate(parts)
        ]
        return runtime().Tensor(np.concatenate([first, *others])[np.newaxis].astype(np.int64))

    @cached_property
    def _jinja(self) -> str:
        """The chat template, if it is a file's, or if it asks for today's date; "" is the tokenizer's own."""
        jinja = template_text(self._tokenizer, self._template)
        fixed = with_fixed_date(self.config.template, jinja, self.where)
        return fixed if fixed != jinja else self._template or ""

    @cached_property
    def _controls(self) -> tuple[str, ...]:
        """The control tokens of the model, as texts: what is one token to its tokenizer."""
        vocabulary = (name.decode("utf-8", "ignore") for name in self._tokenizer.get_vocab())
        found = []
        for name in control_texts(vocabulary):
            tokens = self._tokenizer.encode(name, add_special_tokens=False).input_ids.data[0]
            # A text such as `[1]` may be one token, and no control token.
            shown = self._tokenizer.decode(tokens.tolist(), skip_special_tokens=True)
            if len(tokens) == 1 and (not shown or CONTROL_TEXT.fullmatch(name)):
                found.append(name)
        return tuple(found)

    def _send(self, place: int, request: Request, tokens: Any) -> None:
        """Hand a prompt to the engine, starting that if need be."""
        if self._engine is None:
            sent = self._tokenizer.decode(tokens.data[0].tolist(), skip_special_tokens=False)
            logger.info("The first prompt, %s:\n%s", form(self.config), sent)
            self._start()
        self._started.send(place, tokens, self._generation(request, tokens.shape[1]))

    def _generation(self, request: Request, length: int) -> Any:
        sampling = self.config.sampling
        new = min(new_tokens(self.config.reasoning, request), self.config.context - length)
        chosen = genai().GenerationConfig(max_new_tokens=new, apply_chat_template=False)
        # Of the checkpoint's generation settings, only the end tokens are the model's.
        own = self._started.config()
        chosen.eos_token_id, chosen.stop_token_ids = own.eos_token_id, own.stop_token_ids
        chosen.stop_strings = set(self.config.stop)
        if sampling.temperature:
            chosen.do_sample, chosen.temperature = True, sampling.temperature
            chosen.top_p = sampling.top_p
            if sampling.top_k is not None:
                chosen.top_k = sampling.top_k
            chosen.rng_seed = sample_seed(sampling.seed, request.prompt, request.sample)
        return chosen

    def _answer(self, request: Request, length: int, ended: EndedPrompt) -> Answer:
        """The answer of a request that the engine has ended."""
        tokens, stopped, error, cached = ended
        if error is not None:
            return Answer("", error=error)
        cut = not stopped and len(tokens) < new_tokens(self.config.reasoning, request)
        answer = Answer(
            without_stop(
                self._tokenizer.decode(tokens, skip_special_tokens=True), self.config.stop
            ),
            "stop" if stopped else "length",
            prompt_tokens=length,
            cached_tokens=cached,
            completion_tokens=len(tokens),
            cut_at=self.config.context if cut else None,
        )
        # The token that ends an answer is not part of its text.
        if stopped and tokens and tokens[-1] in self._started.config().stop_token_ids:
            tokens = tokens[:-1]
        return with_thoughts(self._tokenizer, tokens, answer, self.config)

    def _too_long(self, length: int) -> Answer:
        return Answer(
            "",
            "skipped",
            error=f"the prompt has {length} tokens as the model gets it, the model's context is "
            f"{self.config.context}",
        )

    # The engine

    @property
    def _at_once(self) -> int:
        """How many prompts are with the engine."""
        alone = self.config.repeatable or bool(self.config.sampling.temperature)
        return 1 if alone else self.config.batch_size or 1

    @property
    def _started(self) -> OpenvinoEngine:
        """The engine, once it has started."""
        assert self._engine is not None
        return self._engine

    @property
    def _device(self) -> str:
        return "CPU" if self.config.device == "auto" else self.config.device.upper()

    @cached_property
    def _name(self) -> str:
        """The GGUF file or the folder."""
        name = self.config.name
        if not Path(name).exists():
            raise UserError(
                f"{self.where}.name: {name} does not exist: name a GGUF file or an OpenVINO folder."
            )
        return name

    @cached_property
    def _template(self) -> str | None:
        return read_chat_template(self.config.chat_template, self.where)

    def _split_engine(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The settings of the scheduler, and those of the device."""
        own = dict(self.config.engine).items()
        # The class of settings fills in vLLM's.
        ours = {k: v for k, v in own if not k.endswith("_parallel_size")}
        scheduler = {k: v for k, v in ours.items() if not k.isupper()}
        given = {k: v for k, v in ours.items() if k.isupper()}
        return scheduler, _ACCURACY | self._precision | given

    @property
    def _precision(self) -> dict[str, str]:
        """The default precision: none if `engine` has one or a mode."""
        chosen = {*_ACCURACY, *_PRECISION} & {*dict(self.config.engine)}
        return {} if chosen else _PRECISION

    def _capabilities(self) -> Collection[str]:
        """The formats in which the device computes fast; none are known if OpenVINO is not installed."""
        try:
            return list(runtime().Core().get_property(self._device, "OPTIMIZATION_CAPABILITIES"))
        except ImportError:
            return ()

    def _scheduler(self) -> Any:
        """The scheduler's configuration."""
        scheduler = genai().SchedulerConfig()
        known = [name for name in dir(scheduler) if not name.startswith("_")]
        chosen = {
            "enable_prefix_caching": True,
            "cache_size": _CACHE_GB,
            "max_num_batched_tokens": _TOKENS_AT_ONCE,
            "max_num_seqs": self._at_once,
        }
        for name, value in (chosen | self._split_engine()[0]).items():
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1, cutoff=0)
                raise UserError(
                    f"{self.where}.engine.{name} is not a setting of OpenVINO's scheduler: did you mean "
                    f"{near[0]!r}? Settings of the device are in upper case."
                )
            setattr(scheduler, name, value)
        return scheduler

    def _start(self) -> None:
        """Load the weights."""
        name, properties = self._name, self._split_engine()[1]
        scheduler = self._scheduler()
        try:
            if Path(name).is_file():
                from needlework.models.backends.openvino.gguf_models import kept_folder

                name = str(kept_folder(Path(name), self.journal / "openvino"))
            self._engine = OpenvinoEngine(name, scheduler, self._device, properties)
        except ImportError as error:
            raise not_installed(self.where, error) from None
        except UserError as error:
            raise UserError(f"{self.where}: {error}") from None
        except Exception as error:  # the library's own
            raise self._unloadable(error) from error
        self.when_ready()

    def _unloadable(self, error: Exception) -> UserError:
        devices = ", ".join(runtime().Core().available_devices)
        return UserError(
            f"{self.where}: {self.config.name} cannot be loaded: {_reason(error)}. Check `name` (a GGUF "
            "file of an architecture that OpenVINO GenAI reads, or an OpenVINO folder), `device` (OpenVINO "
            f"finds {devices} here) and `engine`; out of memory, lower `engine: {{cache_size: ...}}`."
        )


def _reason(error: Exception) -> str:
    """The last line of OpenVINO's error; those before it say where in its source."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return reason(Exception(lines[-1])) if lines else reason(error)


def _word(value: Any) -> Any:
    """A property as JSON: a number, or the name of a choice or a type."""
    if isinstance(value, int | float | str):
        return value
    return getattr(value, "name", None) or value.get_type_name()


BACKEND = OpenvinoBackend
