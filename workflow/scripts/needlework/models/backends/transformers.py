"""Models run by transformers: encoder-decoder models, and models that vLLM does not run."""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from needlework.errors import UserError, not_installed, reason
from needlework.jobs.stop import stopping
from needlework.models.backends.base import Answer, InAnyOrder, Request, sample_seed
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
    without_stop,
)

if TYPE_CHECKING:
    from needlework.models.backends import transformers_settings

logger = logging.getLogger("needlework")

# The batch size without `batch_size`.
BATCH_SIZE = 8

# Prompts are sorted by length within windows of this number of batches. More would save a little padding,
# and hold the tokens of more prompts in memory.
WINDOW = 8

# The generation settings of a checkpoint that belong to the model rather than to sampling.
_TOKENS = (
    *("bos_token_id", "eos_token_id", "pad_token_id"),
    *("decoder_start_token_id", "forced_bos_token_id", "forced_eos_token_id"),
)


class _Prompt(NamedTuple):
    """A request as the model gets it: its place among all, its tokens, how many it may add."""

    place: int
    tokens: list[int]
    new: int
    seed: int


class TransformersBackend(InAnyOrder):
    """A model of the hub or of a local folder (key `name`), decoder-only or encoder-decoder.

    `chat` puts each prompt into the tokenizer's chat template, or into the one in the file
    `chat_template`; without it the prompt is sent as it is. `batch_size` prompts of similar length
    are answered at once; fewer if memory runs out.
    """

    config: transformers_settings.Transformers

    def __init__(
        self, config: transformers_settings.Transformers, model: str, journal: str | Path
    ) -> None:
        super().__init__(config, model, journal)
        self._batch_size = 1 if config.repeatable else config.batch_size or BATCH_SIZE

    def identity(self) -> Mapping[str, object]:
        """The weights, the chat template, sampling, number format, positions, `config` and reasoning."""
        config = self.config
        return {
            "backend": "transformers",
            "weights": weights_identity(config.name, config.revision),
            "chat_template": self._template,
            "chat": config.chat,
            "sampling": dict(config.sampling),
            "dtype": config.dtype,
            "rope_scaling": config.rope_scaling and dict(config.rope_scaling),
            # Added later: older records lack it, as does an entry that does not set it.
            **({"config": dict(config.config)} if config.config else {}),
            **local_regime(config),
            **reasoning_identity(config.reasoning),
        }

    def former_identity(self) -> Mapping[str, object] | None:
        """The identity of older records, which held the mark at the end of reasoning."""
        return former_identity(self.config.reasoning, self.identity())

    def load(self) -> None:
        """Read the model's configuration and tokenizer; the weights come with the first prompt.

        So if all missing prompts exceed the context, no weights are loaded.
        """
        try:
            import torch  # noqa: F401
            from transformers import AutoConfig, AutoTokenizer
        except ImportError as error:
            raise not_installed(self.where, error) from None
        warn_if_unpinned(self.where, self.config.name, self.config.revision)
        try:
            self._settings = AutoConfig.from_pretrained(self.config.name, **self._source)
            self._tokenizer = AutoTokenizer.from_pretrained(self.config.name, **self._source)
        except Exception as error:  # the libraries have many; none of them is the user's to know
            raise self._unloadable(error) from error
        self._change_settings()
        text = self._settings.get_text_config(decoder=True)
        if self.config.rope_scaling:
            self._scale_positions(text, dict(self.config.rope_scaling))
        # Its frequencies follow the longest prompt of a batch, so each prompt is a batch of its own.
        rope = getattr(text, "rope_parameters", None) or {}
        self._dynamic = "dynamic" in rope.get("rope_type", "")
        self._limit = _context(text)
        with template_check(self.where, self.config.name):
            self._encode("?")

    def answers(self, requests: Iterable[Request]) -> Iterator[tuple[int, Answer]]:
        """The answers with their places, after each batch."""
        left = enumerate(requests)
        while window := list(islice(left, WINDOW * self._batch_size)):
            yield from self._window(window)

    def close(self) -> None:
        """Free the memory."""
        if self.__dict__.pop("_model", None) is not None:
            _free()

    # A window of requests

    def _window(self, requests: Iterable[tuple[int, Request]]) -> Iterator[tuple[int, Answer]]:
        """The answers to some requests, asked in batches of similar length, the longest first."""
        prompts = []
        for place, request in requests:
            prompt = self._prompt(place, request)
            if isinstance(prompt, Answer):
                yield place, prompt
            else:
                prompts.append(prompt)
        prompts.sort(key=lambda prompt: (prompt.new, len(prompt.tokens)), reverse=True)
        while prompts and not stopping():
            size = 1 if self._dynamic else self._batch_size
            group = [prompt for prompt in prompts[:size] if prompt.new == prompts[0].new]
            found = self._ask(group)
            if found is None and len(group) > 1:
                self._batch_size = len(group) // 2
                logger.warning(
                    "%s: a batch of %d prompts does not fit into memory; from now on %d.",
                    self.where,
                    len(group),
                    self._batch_size,
                )
                continue
            if found is None:
                found = [Answer("", error=_too_little_memory(len(group[0].tokens)))]
            for prompt, answer in zip(group, found, strict=True):
                yield prompt.place, answer
            del prompts[: len(group)]

    def _prompt(self, place: int, request: Request) -> _Prompt | Answer:
        """The request as the model gets it, or the answer that it exceeds the context."""
        prompt = request.prompt
        tokens, new = self._encode(prompt), new_tokens(self.config.reasoning, request)
        if self._limit is not None:
            # An encoder's positions are not those of the answer.
            own = self._settings.is_encoder_decoder
            if len(tokens) > self._limit - (not own):
                return Answer(
                    "",
                    "skipped",
                    error=f"the prompt has {len(tokens)} tokens as the model gets it, the model's "
                    f"context is {self._limit}",
                )
            new = min(new, self._limit if own else self._limit - len(tokens))
        seed = sample_seed(self.config.sampling.seed, prompt, request.sample)
        return _Prompt(place, tokens, new, seed)

    def _ask(self, group: Sequence[_Prompt]) -> list[Answer] | None:
        """The answers to a batch; None if the memory does not suffice for it."""
        if "_model" not in self.__dict__:
            first = self._tokenizer.decode(group[0].tokens)
            logger.info("The first prompt, as the model gets it:\n%s", first)
        model = self._model
        try:
            return self._generate(model, group)
        except (RuntimeError, MemoryError) as error:
            if not _out_of_memory(error):
                raise
        # Outside of the handler, where nothing holds the tensors any more.
        _free()
        return None

    def _generate(self, model: Any, group: Sequence[_Prompt]) -> list[Answer]:
        import torch
        from transformers import LogitsProcessorList

        longest = max(len(prompt.tokens) for prompt in group)
        ends = model.generation_config.eos_token_id
        stops = set(ends if isinstance(ends, list) else [ends])
        padding = model.generation_config.pad_token_id
        stop = list(self.config.stop)
        inputs, mask = [], []
        for prompt in group:
            empty = longest - len(prompt.tokens)
            row, seen = [padding] * empty, [0] * empty
            # A decoder's prompts are padded on the left, an encoder's on the right.
            first = self._settings.is_encoder_decoder
            inputs.append(prompt.tokens + row if first else row + prompt.tokens)
            ones = [1] * len(prompt.tokens)
            mask.append(ones + seen if first else seen + ones)
        with torch.inference_mode():
            if self._dynamic:
                # A short prompt makes the model forget the frequencies of a long one before.
                model(torch.tensor([[padding]], device=model.device))
            output = model.generate(
                input_ids=torch.tensor(inputs, device=model.device),
                attention_mask=torch.tensor(mask, device=model.device),
                max_new_tokens=group[0].new,
                logits_processor=LogitsProcessorList(self._choice([p.seed for p in group])),
                **({"stop_strings": stop, "tokenizer": self._tokenizer} if stop else {}),
            )
        start = 1 if self._settings.is_encoder_decoder else longest
        return [
            self._answer(prompt, row[start:], stops)
            for prompt, row in zip(group, output.tolist(), strict=True)
        ]

    def _answer(self, prompt: _Prompt, new: list[int], stops: set[int]) -> Answer:
        """The answer in the tokens that a row of the output adds, padding included."""
        end = next((n for n, token in enumerate(new, 1) if token in stops), None)
        new = new[:end]
        text = str(self._tokenizer.decode(new, skip_special_tokens=True))
        kept = without_stop(text, self.config.stop)
        if kept != text:
            # The rest of the row is padding.
            new = new[: _shortest(self._tokenizer, new, len(kept) + 1)]
        answer = Answer(
            kept,
            "length" if end is None and kept == text else "stop",
            prompt_tokens=len(prompt.tokens),
            completion_tokens=len(new),
        )
        # The token that ends an answer is not part of its text.
        written = new if end is None else new[:-1]
        return with_thoughts(self._tokenizer, written, answer, self.config)

    def _choice(self, seeds: Sequence[int]) -> list[Any]:
        """The processors after which the likeliest next token is a sampled one. None at temperature 0."""
        from transformers import (
            TemperatureLogitsWarper,
            TopKLogitsWarper,
            TopPLogitsWarper,
        )

        sampling = self.config.sampling
        if not sampling.temperature:
            return []
        chosen: list[Any] = [TemperatureLogitsWarper(float(sampling.temperature))]
        if sampling.top_k is not None:
            chosen.append(TopKLogitsWarper(sampling.top_k))
        if sampling.top_p < 1:
            chosen.append(TopPLogitsWarper(float(sampling.top_p)))
        return [*chosen, _gumbel(seeds)]

    def overhead(self) -> int:
        """The tokens of the chat template, of the answer's beginning, and of reasoning."""
        plain = self._tokenizer.encode("?", add_special_tokens=False)
        return len(self._encode("?")) - len(plain) + thoughts(self.config.reasoning)

    def as_sent(self, prompt: str) -> tuple[str, str]:
        """The prompt in the chat template, with the special tokens that the model sees."""
        return form(self.config), str(self._tokenizer.decode(self._encode(prompt)))

    def _encode(self, prompt: str) -> list[int]:
        return encode(self._tokenizer, prompt, self.config, self._template, self.where)

    @cached_property
    def _template(self) -> str | None:
        return read_chat_template(self.config.chat_template, self.where)

    # The model

    @property
    def _source(self) -> dict[str, Any]:
        config = self.config
        return {"revision": config.revision, "trust_remote_code": config.trust_remote_code}

    def _change_settings(self) -> None:
        """Put `config` into the model's configuration."""
        for key, value in deepcopy(dict(self.config.config)).items():
            if not hasattr(self._settings, key):
                raise UserError(
                    f"{self.where}.config has the key {key!r}, which the configuration of "
                    f"{self.config.name} does not know: correct it, or leave it out."
                )
            try:
                setattr(self._settings, key, value)
            except Exception as error:  # the library's own
                raise UserError(
                    f"{self.where}.config.{key} is {value!r}: {reason(error)}. Correct it."
                ) from None

    def _scale_positions(self, text: Any, scaling: dict[str, Any]) -> None:
        """Put `rope_scaling` into the model's configuration, for prompts beyond its training."""
        known = getattr(text, "rope_parameters", None)
        if self._settings.is_encoder_decoder or not known or "rope_type" not in known:
            raise UserError(
                f"{self.where}.rope_scaling: {self.config.name} does not have rotary positions, or "
                "has several kinds of them: leave the key out."
            )
        kept = {key: known[key] for key in ("rope_theta", "partial_rotary_factor") if key in known}
        try:
            text.rope_parameters = kept | scaling
            text.standardize_rope_params()
            text.validate_rope()
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{self.where}.rope_scaling: {reason(error)}. Correct it.") from None

    @cached_property
    def _model(self) -> Any:
        """The model on its device, with its own special tokens and no habits of sampling."""
        import torch
        from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, GenerationConfig

        device = self.config.device
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        kind = AutoModelForSeq2SeqLM if self._settings.is_encoder_decoder else AutoModelForCausalLM
        try:
            model: Any = kind.from_pretrained(
                self.config.name,
                config=self._settings,
                dtype=self.config.dtype,
                **self._source,
            )
            model = model.to(device).eval()
        except Exception as error:  # the libraries have many; none of them is the user's to know
            raise self._unloadable(error) from error
        theirs = model.generation_config
        tokens = {name: getattr(theirs, name, None) for name in _TOKENS}
        if tokens["eos_token_id"] is None:
            tokens["eos_token_id"] = self._tokenizer.eos_token_id
        if tokens["pad_token_id"] is None:
            # Any token will do: it is masked.
            tokens["pad_token_id"] = self._tokenizer.pad_token_id or 0
        model.generation_config = GenerationConfig(  # type: ignore[no-untyped-call]  # theirs
            **tokens, do_sample=False, num_beams=1
        )
        return model

    def _unloadable(self, error: Exception) -> UserError:
        return UserError(
            f"{self.where}: {self.config.name} cannot be loaded: {reason(error)}. Check `name`, "
            "`revision`, `dtype` and `device`; for a gated model, accept its licence on the hub and set "
            "HF_TOKEN; without internet, set `name` to a local folder, or HF_HOME to a cache that holds "
            "the model; out of memory, take a `dtype` of 16 bits."
        )


def _shortest(tokenizer: Any, tokens: list[int], characters: int) -> int:
    """How many of the first tokens make a text of at least this number of characters."""

    def longer(count: int) -> bool:
        return len(tokenizer.decode(tokens[:count], skip_special_tokens=True)) >= characters

    return bisect_left(range(len(tokens)), True, key=longer)


def _context(text: Any) -> int | None:
    """How many positions a model has, by its configuration; None if there is no limit."""
    # MPT's configuration has a name of its own for it.
    limit = getattr(text, "max_position_embeddings", getattr(text, "max_seq_len", None))
    rope = getattr(text, "rope_parameters", None) or {}
    # Llama 3's and Phi's configurations name the limit with its scaling, the others without.
    if limit is None or "factor" not in rope or rope["rope_type"] in ("llama3", "longrope"):
        return limit
    return int(rope.get("original_max_position_embeddings", limit) * rope["factor"])


def _gumbel(seeds: Sequence[int]) -> Any:
    """A processor after which the likeliest token of each row is a sample drawn by the row's seed.

    The largest of log-probabilities with Gumbel noise is such a sample (Gumbel, 1954). The noise is
    each row's own and drawn on the CPU, so neither the batch nor the device changes a sample.
    """
    import torch
    from transformers import LogitsProcessor

    sources = [torch.Generator().manual_seed(seed) for seed in seeds]

    class Gumbel(LogitsProcessor):
        def __call__(self, input_ids: Any, scores: Any) -> Any:
            tiny = torch.finfo(torch.float32).tiny
            waits = [torch.empty(scores.shape[1]).exponential_(generator=g) for g in sources]
            return scores - torch.stack(waits).clamp_(min=tiny).log_().to(scores.device)

    return Gumbel()


def _out_of_memory(error: Exception) -> bool:
    import torch

    # On the CPU it is a RuntimeError like any other.
    known = isinstance(error, torch.OutOfMemoryError | MemoryError)
    return known or "can't allocate memory" in str(error)


def _too_little_memory(n_tokens: int) -> str:
    return (
        f"the memory does not suffice for one prompt of {n_tokens} tokens: take a `dtype` of 16 bits, "
        "a larger device, or shorter `lengths`"
    )


def _free() -> None:
    """Free unused memory of the device."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()


BACKEND = TransformersBackend
