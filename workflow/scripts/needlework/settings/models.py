"""What all models have."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, ClassVar, Self

from pydantic import ConfigDict, Field, model_validator

from needlework.settings.base import (
    ARRAY,
    BOOLEAN,
    BY_TYPE,
    INTEGER,
    NUMBER,
    OBJECT,
    ONE_LINE,
    STRING,
    Affects,
    Distinct,
    OfOthers,
    PathText,
    Settings,
    Several,
    SomeLines,
    SomeText,
    Text,
    key,
    wrong,
)

Length = Annotated[int, Field(ge=1, le=100_000_000)]
Lengths = Annotated[
    Annotated[Distinct[Length], ARRAY] | Annotated[dict[str, Distinct[Length]], OBJECT], BY_TYPE
]
_LEAST, _MOST = -9223372036854775808, 9223372036854775807
# The value of a factor.
Value = Annotated[
    Annotated[Text, STRING]
    | Annotated[int, Field(ge=_LEAST, le=_MOST), INTEGER]
    | Annotated[float, Field(ge=_LEAST, le=_MOST), NUMBER]
    | Annotated[bool, BOOLEAN],
    BY_TYPE,
]
Values = Several[Value]
# The value of a variable of a chat template.
Variable = Annotated[
    Annotated[str, Field(max_length=1000, pattern=ONE_LINE), STRING]
    | Annotated[bool, BOOLEAN]
    | Annotated[int, Field(ge=-1_000_000_000, le=1_000_000_000), INTEGER]
    | Annotated[float, Field(ge=-1_000_000_000, le=1_000_000_000), NUMBER],
    BY_TYPE,
]


class Marks(Settings):
    """The marks around reasoning."""

    begin: SomeLines | None = key(None)
    """The mark before reasoning; null if the chat template has written it."""
    end: SomeLines
    """The mark after reasoning."""


class Engine(Settings):
    """Arguments of the engine."""

    model_config = ConfigDict(extra="allow")

    tensor_parallel_size: int = key(1, ge=1, le=1024)
    """The number of GPUs over which each layer is spread."""
    pipeline_parallel_size: int = key(1, ge=1, le=1024)
    """The number of stages into which the layers are split, each on GPUs of its own."""


class Sampling(Settings):
    """How the next token is sampled."""

    temperature: float | None = key(0.7, ge=0, le=100)
    """0 is greedy decoding. `openai`, `inspect`: null sends no temperature, so the provider uses its
    own."""
    top_k: int | None = key(50, ge=1, le=1_000_000_000)
    """Sample among this number of the likeliest tokens; null is all tokens. `openai` and `inspect`
    send it only if you set it."""
    top_p: float = key(1.0, gt=0, le=1)
    """Sample among the likeliest tokens with this share of the probability."""
    seed: int = key(0, ge=-9223372036854775807, le=9223372036854775807)
    """The seed of sampling."""


class Throughput(Settings):
    """A model's speed."""

    affects: ClassVar[Affects | None] = "nothing"

    prefill: float = key(gt=0, le=1_000_000_000_000_000)
    """Prompt tokens per second."""
    decode: float = key(gt=0, le=1_000_000_000_000_000)
    """Tokens of answers per second, with as many answers at once as in a run."""


class Price(Settings):
    """The price of a million tokens."""

    affects: ClassVar[Affects | None] = "nothing"

    input: float = key(ge=0, le=1_000_000_000)
    """The price of a million prompt tokens."""
    cached_input: float | None = key(None, ge=0, le=1_000_000_000)
    """The price of a million prompt tokens in the endpoint's cache; null is the price `input`."""
    output: float = key(ge=0, le=1_000_000_000)
    """The price of a million tokens of answers and reasoning."""


class ModelSettings(Settings):
    """What the entries of all models have."""

    affects: ClassVar[Affects | None] = "answers"

    backend: str
    """The program that answers the prompts."""
    tokenizer: Text = key(affects="prompts")
    """The tokenizer that counts the tokens of this model's prompts, by its name under `tokenizers`."""
    context: int = key(ge=1, le=100_000_000)
    """The model's context in tokens. A longer prompt is recorded as skipped."""
    lengths: Lengths | None = key(None, affects="prompts")
    """The prompt lengths for this model: a list, or an object with a list per benchmark. Null means
    all lengths, and so does a benchmark that the object lacks."""
    only: dict[
        str, Annotated[Annotated[Values, ARRAY] | Annotated[dict[str, Values], OBJECT], BY_TYPE]
    ] = key({}, affects="prompts")
    """Restricts this model's prompts to values of factors: `{factor: [values]}` for all benchmarks
    that have the factor, or `{mlneedle: {needle_lang: [en]}}` for one benchmark. Factors are the
    columns of results/scores, `task` and `example_id`. A prompt without a value for a factor is kept.
    Tables have only these prompts, and results/provenance.json has the restriction. All prompts are
    still built, and cached answers stay valid."""
    optional: bool = key(False, affects="nothing")
    """If the package of the model's weights is not installed, leave the model out of the run and say
    so."""
    name: PathText | None = key(None)
    """`vllm`, `transformers`: the model's name on the hub, or a local folder. `openvino`: a GGUF file
    or an OpenVINO folder. `openai`: the model's name at the endpoint. `inspect`: a provider and its
    model, as inspect_ai names them, such as `anthropic/claude-sonnet-5` or `google/gemini-2.5-flash`.
    `package:<distribution>/<path>` is a file or folder of an installed Python package; none of its
    code is run."""
    revision: Text | None = key(None)
    """The commit on the hub. Without it, the main branch at the time of the download is used. A local
    folder is identified by a hash of its files. `openai`: any name for what the endpoint serves now; a
    new name invalidates cached answers."""
    chat: bool = key(True)
    """Put each prompt into the chat template (instruction models); false sends it as it is (base
    models). `openai`: true uses the endpoint's chat completions, false its completions."""
    thoughts: Several[Marks] | None = key(None)
    """The marks before and after a model's reasoning, for any backend. Reasoning is removed when the
    file of answers is written, so a change does not invalidate cached answers. Null recognises the
    marks in resources/reasoning_marks.tsv. An empty list removes nothing."""
    engine: Engine = key(Engine)
    """`vllm`: arguments of vLLM's engine, by their names in its class EngineArgs:
    tensor_parallel_size, pipeline_parallel_size, dtype, quantization, kv_cache_dtype, max_model_len,
    gpu_memory_utilization, max_num_seqs, max_lora_rank, seed and so on. hf_overrides changes the
    model's own config.json; RoPE scaling is `hf_overrides: {rope_parameters: {rope_type: yarn, factor:
    4.0, original_max_position_embeddings: 32768, rope_theta: 1000000.0}, max_position_embeddings:
    131072}`, or `{rope_type: dynamic, factor: 4.0, rope_theta: 500000.0}` for dynamic NTK. `openvino`:
    settings of its scheduler (cache_size in GB, max_num_batched_tokens, enable_prefix_caching), and in
    upper case those of the device (INFERENCE_NUM_THREADS, KEY_CACHE_PRECISION, VALUE_CACHE_PRECISION,
    EXECUTION_MODE_HINT (default ACCURACY), INFERENCE_PRECISION_HINT (default f32 unless the mode is
    set)). Prefix caching is on. A job warns of a setting that the engine ignored, as
    OpenVINO ignores KV_CACHE_PRECISION in the mode ACCURACY. An argument that affects only speed or
    memory does not invalidate cached answers (see `variant`)."""
    trust_remote_code: bool = key(False)
    """Run the code of the hub's repository. Read that code before you set this."""
    shards: int = key(1, affects="speed", ge=1, le=1000)
    """The number of jobs into which a benchmark's prompts are split, each with an engine of its own.
    Changes no result."""
    samples: int = key(1, ge=1, le=10000)
    """The number of answers to each prompt."""
    sampling: Sampling = key(Sampling)
    """How the next token is sampled."""
    max_failed: int = key(0, ge=0, le=1_000_000_000)
    """A job fails if more requests than this number fail."""
    throughput: Throughput | None = key(None, affects="nothing")
    """For `snakemake estimate`: the model's measured speed, on all its GPUs together. Null guesses
    from the model's size. Changes no answer."""
    price: Price | None = key(None, affects="nothing")
    """For `snakemake estimate`: the price of a million tokens, in any currency. Null shows no cost.
    Changes no answer."""
    published: Text | None = key(None, affects="results")
    """The model's name in resources/published, if the paper has numbers of it."""

    @model_validator(mode="after")
    def _a_temperature_is_chosen(self) -> Self:
        if self.sampling.temperature is None and not isinstance(self.sampling, RemoteSampling):
            raise wrong(
                ".sampling.temperature",
                "is null, which leaves it to the provider of a model: give the backend "
                f"{self.backend} a number (0 is greedy decoding).",
            )
        return self


class Reasoning(Settings):
    """How much a model may reason."""

    elsewhere: ClassVar[Mapping[str, OfOthers]] = {"effort": OfOthers(None, ("inspect",))}

    max_tokens: int = key(ge=1, le=10_000_000)
    """The limit of reasoning tokens, in addition to the benchmark's limit for the answer."""
    end: SomeLines = key("</think>")
    """The string that ends the reasoning, unless it is a known mark (see `thoughts`)."""


class Prompted(ModelSettings):
    """What the entries of all models have that read prompts."""

    system: SomeLines | None = key(None)
    """A system prompt, before each prompt in the chat template. Null keeps the template's own, if it
    has one. Not possible with `chat: false`."""
    stop: Distinct[SomeLines] = key(())
    """Stop strings. They are not part of the answer. Not for encoder-decoder models."""
    variant: SomeText | None = key(None)
    """A name for this way of running the model. Each name has cached answers of its own, even if
    entries differ only in settings for speed (see `run.doctor`)."""

    @model_validator(mode="after")
    def _a_system_prompt_has_a_template(self) -> Self:
        if self.system and not self.chat:
            raise wrong(
                ".system", "needs a chat template: leave it out, or leave out `chat: false`."
            )
        return self


class Local(Prompted):
    """What the entries of all models have that run on this machine."""

    chat_template: PathText | None = key(None)
    """A file with the chat template (Jinja); null is the tokenizer's own."""
    template: Annotated[dict[str, Variable | None], Field(max_length=50)] = key({})
    """Variables of the chat template, such as `{enable_thinking: false}`. If a template writes today's
    date, it gets the value of `date` (as in `{date: "2026-01-31"}`), or else 1 January 2026, so that a
    run that continues tomorrow sends the same prompts."""
    answer_prefix: SomeLines | None = key(None)
    """The beginning of the answer, which the model continues. It is not scored."""
    reasoning: Reasoning | None = key(None)
    """For a reasoning model. Reasoning is not part of the answer; its tokens are counted
    (`reasoning_tokens`). Null gives the model no tokens for reasoning, or, with `inspect`, leaves
    reasoning to the provider. For `openai` see `request`."""
    repeatable: bool = key(False)
    """Ask the engine for answers that do not depend on the other prompts of the batch: vLLM's
    batch-invariant mode (on GPUs that support it), otherwise one prompt at a time. This is slower.
    Changing it invalidates cached answers."""

    @model_validator(mode="after")
    def _a_date_is_one(self) -> Self:
        given = self.template.get("date", "2026-01-01")
        try:
            date.fromisoformat(str(given))
        except ValueError:
            raise wrong(
                ".template.date", f"is {given!r}, which is no date: write it as 2026-01-31."
            ) from None
        return self


class OfHub(Local):
    """A model of the hub."""

    gated: bool = key(False, affects="place")
    """Whether the hub requires that you accept a licence. The run then begins only if there is a token
    (`HF_TOKEN`). Changes no answer."""


class OnDevice(Local):
    """A model for which a device can be chosen."""

    batch_size: int | None = key(None, affects="speed", ge=1, le=65536)
    """The number of prompts per batch. Null is 8 for `transformers`, which takes fewer if memory runs
    out, and 1 for `openvino`. Changing it does not invalidate cached answers, although rounding
    depends on it (docs/models.md)."""
    device: Text = key("auto", affects="speed")
    """`auto` takes a GPU if there is one; with `cpu` the job asks for no GPU, and for more cores.
    `openvino`: `auto` is the CPU, `gpu` an Intel GPU. Changing it does not
    invalidate cached answers."""


class RemoteSampling(Sampling):
    """As of other models, but strict endpoints refuse `top_k`."""

    top_k: int | None = key(None, ge=1, le=1_000_000_000)


class Remote(Prompted):
    """What the entries of all models have that are asked over a network."""

    concurrency: int = key(8, affects="speed", ge=1, le=1000)
    """The number of requests at once, in each job (of a benchmark, or of a shard). Changes no answer."""
    timeout: float = key(600, affects="speed", gt=0, le=604_800)
    """If a request has no answer after this number of seconds, it is sent again. Changes no answer."""
    sampling: RemoteSampling = key(RemoteSampling)
    """How the next token is sampled."""

    @classmethod
    def in_order(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**given, "sampling": {"top_k": None, **given.get("sampling", {})}}
