"""An estimate of a run, made from its prompts before a GPU or a paid request is used.

Prompts are counted by the instance files' tokenizer, without a chat template; answers count with their limit.
Requests in the journal count as done, and equal prompts are one request. Hours are tokens divided by a
throughput, costs are tokens multiplied by a price.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from needlework.atomic import inert
from needlework.models.backends.base import Backend, Request
from needlework.models.generation import languages, of_kind
from needlework.models.outcomes import PromptSize
from needlework.models.request_keys import RequestKeys
from needlework.models.selection import Selection, mask
from needlework.models.thoughts import reasoning_of
from needlework.prompts.ordering import Order, PromptStore
from needlework.records import read_table

if TYPE_CHECKING:
    from needlework.models.settings import AnyModel
    from needlework.settings.models import Price

# A prefix is cached in whole blocks of this number of tokens (vLLM's default).
BLOCK = 16


class PromptSet:
    """The prompts of a benchmark for one tokenizer, in the order of the instance files.

    They are held in memory.
    """

    COLUMNS = (
        "instance_id",
        "task",
        "references",
        "prompt",
        "max_new_tokens",
        "n_tokens",
        "length",
    )

    def __init__(
        self,
        files: Iterable[str | Path],
        documents: Mapping[str, str],
        factors: Sequence[str] = (),
    ) -> None:
        """`factors` are those by which `of_lengths` may select."""
        columns = list(dict.fromkeys([*self.COLUMNS, *factors]))
        self.documents = documents
        self.spans, tables = PromptStore(), []
        for file in files:
            table = read_table(file, list(dict.fromkeys([*columns, *of_kind(file)])))
            self.spans.add(table["prompt"])
            tables.append(table.drop_columns("prompt"))
        self.table = pa.concat_tables(tables)
        self._factors = set(self.table.column_names) - set(self.COLUMNS)
        self.tokens = self.table["n_tokens"].to_numpy().astype(np.int64)

    def of_lengths(self, lengths: Collection[int], only: Selection | None = None) -> np.ndarray:
        """The indices of the selected prompts that have one of `lengths`, or have no length."""
        wanted = pa.array({0, *lengths}, pa.int32())
        among = pc.is_in(self.table["length"].combine_chunks(), value_set=wanted)
        return np.flatnonzero(pc.and_(among, mask(self.table, only or {})))

    def request(self, place: int, sample: int) -> Request:
        """A prompt as a backend gets it."""
        return Request(
            sample=sample,
            documents=self.documents,
            spans=self.spans[place],
            shared=int(self._shared[place]),
            **self._rows[place],
        )

    @cached_property
    def _shared(self) -> np.ndarray:
        return self._order.shares() * self.tokens

    @cached_property
    def _rows(self) -> list[dict[str, Any]]:
        kinds = pc.binary_join_element_wise(self.table["task"], languages(self.table), " ")
        own = self.table.drop_columns(["length", *(self._factors - {"example_id"})])
        return own.append_column("kind", kinds).to_pylist()

    @cached_property
    def _order(self) -> Order:
        return self.spans.order(self.documents)

    def repeated(self, counts: np.ndarray) -> int:
        """How many tokens a prefix cache saves if each prompt (by its place) is sent `counts` times.

        Prompts are sent in the order of `needlework.prompts.ordering`, and the cache holds only the previous
        prompt. Two prompts share a known number of characters. It is assumed that they share the same
        fraction of tokens, in whole blocks.
        """
        if not counts.any():
            return 0
        order = self._order
        saved = int(((counts - 1).clip(0) * _blocks(self.tokens, self.tokens)).sum())
        # Two prompts share what all of their neighbours between them share.
        least = 0
        for place, common, length in zip(
            order.places, order.shared.tolist(), order.characters.tolist(), strict=True
        ):
            least = min(least, common)
            if counts[place]:
                tokens = self.tokens[place]
                saved += int(_blocks(tokens * least / max(1, length), tokens))
                least = order.characters.max()
        return saved


def _blocks(shared: Any, tokens: Any) -> Any:
    """The tokens of the whole blocks that are shared. A prompt's last token is always computed."""
    return np.minimum(shared, tokens - 1).clip(0) // BLOCK * BLOCK


class TokensPerSecond(NamedTuple):
    """Tokens per second of a job, for prompts and for answers, and whether they were measured."""

    prefill: float
    decode: float
    basis: str


# Tokens per second of one GPU with a model of a billion parameters, good to an order of magnitude: 160,000
# times 2 billion operations a token is a third of what an H100 does in bfloat16. Answers are taken to be ten
# times as slow.
PREFILL_PER_S, DECODE_PER_S = 160_000, 16_000


def throughput(entry: AnyModel, gpus: int) -> TokensPerSecond | None:
    """A model's throughput: the configured one, or a guess from the size in its name.

    None if nothing is configured and there is no GPU or no size to tell from.
    """
    if own := entry.throughput:
        return TokensPerSecond(own.prefill, own.decode, "configured")
    size = billions(entry.name or "")
    if not gpus or size is None:
        return None
    return TokensPerSecond(
        PREFILL_PER_S * gpus / size, DECODE_PER_S * gpus / size, f"guessed from {size:g}B"
    )


def billions(name: str) -> float | None:
    """The billions of parameters in a model's name; of several numbers, the smallest (active parameters)."""
    last = Path(name).name
    found = re.findall(r"(?<![A-Za-z0-9.])(?:(\d+)x|A)?(\d+(?:\.\d+)?)B(?![A-Za-z0-9])", last, re.I)
    return min((int(times or 1) * float(size) for times, size in found), default=None)


@dataclass(frozen=True)
class WorkRow:
    """The work of a model on a benchmark. A value that cannot be estimated is empty."""

    model: str
    benchmark: str
    backend: str
    # Samples, without the prompts that exceed the model's context (`skipped`).
    prompts: int
    skipped: int
    prompt_tokens: int
    # The most there can be.
    output_tokens: int
    # From here to `left_output_tokens`, and from `hours` to `cost`: only requests that are not in the journal
    # yet.
    left_prompts: int
    left_prompt_tokens: int
    left_cached_tokens: int
    left_output_tokens: int
    throughput: str
    prefill_per_s: float | None
    decode_per_s: float | None
    gpus: int
    # The hours of a job; `gpu_hours` are these times its GPUs.
    hours: float | None
    gpu_hours: float | None
    cost: float | None
    # Also `words` or `characters`, where the model's tokenizer counts these.
    counted_in: str = "tokens"


def _none(sizes: Mapping[str, PromptSize]) -> Set[str]:
    return set()


@dataclass(frozen=True)
class Answering:
    """A model, and the answers that its journal has."""

    model: str
    entry: AnyModel
    # Not loaded.
    backend: Backend
    gpus: int = 0
    # The unit of the prompts' tokens.
    counted_in: str = "tokens"
    # The keys of the answers in the journal that still hold (`Backend.holds`).
    done: Container[str] = ()
    # Returns the keys of requests that are done but are asked again (`generation.again`).
    retried: Callable[[Mapping[str, PromptSize]], Set[str]] = _none


class Work:
    """The requests of a model for a benchmark.

    Each prompt has two counts: how often it is sent, and how often an answer is still missing.
    """

    def __init__(
        self,
        answering: Answering,
        benchmark: str,
        prompts: PromptSet,
        lengths: Collection[int],
        only: Selection | None = None,
        drawn: Callable[[Iterable[str]], Iterable[str]] | None = None,
    ) -> None:
        """`drawn` chooses among the questions of the prompts; without it, all are asked."""
        self.answering, self.benchmark, self.prompts = answering, benchmark, prompts
        entry = answering.entry
        places = prompts.of_lengths(lengths, only)
        if drawn:
            questions = prompts.table["example_id"].take(places)
            among = pc.is_in(
                questions, value_set=pa.array(drawn(questions.to_pylist()), pa.string())
            )
            places = places[among.to_numpy()]
        fitting = places[prompts.tokens[places] <= entry.context]
        self.rate = throughput(entry, answering.gpus)
        self.output = _most_new(entry, prompts.table["max_new_tokens"].to_numpy())
        self.counts = np.zeros(len(prompts.tokens), np.int64)
        self.counts[fitting] = entry.samples
        self.too_long = np.zeros(len(prompts.tokens), np.int64)
        self.too_long[np.setdiff1d(places, fitting)] = entry.samples
        self.left = self._to_send(fitting.tolist())

    def _to_send(self, fitting: Iterable[int]) -> np.ndarray:
        """How often each prompt is sent, of those at these places: not if it is done, equal ones once."""
        backend, done = self.answering.backend, self.answering.done
        made, former = RequestKeys(backend.identity()), backend.former_identity()
        older = RequestKeys(former) if former else None
        keys: dict[int, list[str]] = {}
        sizes: dict[str, PromptSize] = {}
        for place in fitting:
            for sample in range(self.answering.entry.samples):
                r = self.prompts.request(place, sample)
                key, _ = made.of(r, backend.depends_on(r))
                if older and key not in done:
                    old, _ = older.of(r, backend.depends_on(r))
                    key = old if old in done else key
                keys.setdefault(place, []).append(key)
                sizes[key] = PromptSize.of(r)
        again = self.answering.retried(sizes)
        left = np.zeros(len(self.counts), np.int64)
        for place, own in keys.items():
            # Each key is counted where it comes first.
            left[place] = sum(
                sizes.pop(key, None) is not None for key in own if key not in done or key in again
            )
        return left

    def estimate(self) -> WorkRow:
        """The tokens, hours and costs of the requests."""
        counts, left, tokens = self.counts, self.left, self.prompts.tokens
        entry, gpus = self.answering.entry, self.answering.gpus
        cached = self.prompts.repeated(left) if _caches(entry) else 0
        read, written = int((left * tokens).sum()), int((left * self.output).sum())
        rate = self.rate
        hours = rate and ((read - cached) / rate.prefill + written / rate.decode) / 3600
        return WorkRow(
            self.answering.model,
            self.benchmark,
            entry.backend,
            prompts=int(counts.sum()),
            skipped=int(self.too_long.sum()),
            prompt_tokens=int((counts * tokens).sum()),
            output_tokens=int((counts * self.output).sum()),
            left_prompts=int(left.sum()),
            left_prompt_tokens=read,
            left_cached_tokens=cached,
            left_output_tokens=written,
            throughput=rate.basis if rate else "",
            prefill_per_s=rate and rate.prefill,
            decode_per_s=rate and rate.decode,
            gpus=gpus,
            hours=hours,
            gpu_hours=None if hours is None else hours * gpus,
            cost=_cost(entry.price, read, cached, written),
            counted_in=self.answering.counted_in,
        )

    def with_more(self, more: int) -> WorkRow:
        """The estimate if there were `more` further prompts of the usual size, none of them answered."""
        own, before = self.estimate(), self.left
        self.left = self.counts
        every, self.left = self.estimate(), before
        times = more / max(1, every.prompts)
        added = {
            each.name: value + times * usual
            for each in fields(WorkRow)
            if isinstance(usual := getattr(every, each.name), int | float)
            and each.name not in ("prefill_per_s", "decode_per_s", "gpus", "skipped")
            and (value := getattr(own, each.name)) is not None
        }
        whole = {name for name in added if isinstance(getattr(own, name), int)}
        return replace(own, **{n: round(v) if n in whole else v for n, v in added.items()})


def _caches(entry: AnyModel) -> bool:
    """Whether a prefix that was just computed is cached, and not paid in full again."""
    if entry.backend in ("vllm", "openvino"):
        return dict(entry.engine).get("enable_prefix_caching", True)
    cheaper = entry.price is not None and entry.price.cached_input is not None
    return entry.backend in ("openai", "inspect") and cheaper


def _most_new(entry: AnyModel, asked: np.ndarray) -> np.ndarray:
    """The limit of each answer. A field of `request` can override the benchmark's limit."""
    request = dict(entry.request) if entry.backend == "openai" else {}
    own = [request.get(field) for field in ("max_completion_tokens", "max_tokens")]
    limits = [limit for limit in own if isinstance(limit, int)]
    reasoning = reasoning_of(entry)
    thoughts = reasoning.max_tokens if reasoning else 0
    return np.full(len(asked), max(limits)) if limits else asked + thoughts


def _cost(price: Price | None, read: int, cached: int, written: int) -> float | None:
    """What tokens cost at a price per million."""
    if not price:
        return None
    again = price.input if price.cached_input is None else price.cached_input
    return ((read - cached) * price.input + cached * again + written * price.output) / 1_000_000


def save_estimates(rows: Sequence[WorkRow], path: str | Path) -> None:
    """Write the estimates with all that they were made from, one row each."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(WorkRow)])
        writer.writeheader()
        for row in rows:
            writer.writerow({k: inert(_rounded(v)) for k, v in asdict(row).items()})


def _rounded(value: object) -> object:
    return float(f"{value:.6g}") if isinstance(value, float) else value


_READERS = ("lexical", "oracle", "empty", "replay")

# The columns of the table for the terminal, each in at most two lines.
_HEADS = (
    *("", "prompts", "left", "prompt\ntokens", "cached", "output\nat most"),
    *("GPU\nhours", "cost"),
)


def as_text(rows: Sequence[WorkRow]) -> str:
    """The requests left, as a table for a terminal of 80 columns: by model, with a sum."""
    body = [(row.model, [f"  {row.benchmark}", *_cells([row])]) for row in rows]
    if len(rows) > 1:
        body.append(("", ["all", *_cells(rows)]))
    # A column without values is left out.
    shown = [i for i in range(len(_HEADS)) if i < 6 or any(cells[i] != "-" for _, cells in body)]
    heads = [_HEADS[i].split("\n") for i in shown]
    head = [[own[0] if len(own) > 1 else "" for own in heads], [own[-1] for own in heads]]
    table = [[cells[i] for i in shown] for _, cells in body]
    widths = [max(map(len, column)) for column in zip(*head, *table, strict=True)]
    lines = [*(_line(own, widths) for own in head), "  ".join("-" * width for width in widths)]
    before = ""
    for (model, _), cells in zip(body, table, strict=True):
        if model != before and model:
            lines.append(model)
        before = model
        lines.append(_line(cells, widths))
    return "\n".join([*lines, *_remarks(rows)])


def _cells(rows: Sequence[WorkRow]) -> list[str]:
    """The numbers of a line: sums over these rows."""
    read = sum(row.left_prompt_tokens for row in rows)
    return [
        _whole(sum(row.prompts for row in rows)),
        _whole(sum(row.left_prompts for row in rows)),
        _short(read),
        _share(sum(row.left_cached_tokens for row in rows), read),
        _short(sum(row.left_output_tokens for row in rows)),
        _number(_total(row.gpu_hours for row in rows)),
        _number(_total(row.cost for row in rows)),
    ]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return "  ".join(
        [first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)]
    ).rstrip()


def _remarks(rows: Sequence[WorkRow]) -> list[str]:
    remarks = []
    if skipped := sum(row.skipped for row in rows):
        remarks.append(f"{skipped:,} prompts exceed their model's context and are not asked.")
    if guessed := sorted({row.model for row in rows if row.throughput.startswith("guessed")}):
        remarks.append(
            f"The hours of {', '.join(guessed)} are a guess from the model's size, good to an order of "
            "magnitude: measure a few prompts and set `throughput`."
        )
    for unit in ("words", "characters"):
        own = (row for row in rows if row.prompts and row.backend not in _READERS)
        if others := sorted({row.model for row in own if row.counted_in == unit}):
            remarks.append(
                f"Tokens, hours and costs of {', '.join(others)} are counted in {unit}, as the model's "
                "`tokenizer` counts."
            )
    unknown = sorted({row.model for row in rows if row.gpus and row.hours is None})
    if unknown:
        remarks.append(f"The name of {', '.join(unknown)} tells no size: set `throughput`.")
    return ["", *remarks] if remarks else []


def _total(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if part else "-"


def _whole(count: int) -> str:
    return f"{count:,}" if count < 1e6 else _short(count)


def _short(count: int) -> str:
    """A count in at most five characters."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("K", 1e3)):
        if count >= size:
            return (
                f"{count / size:.3g}{unit}" if count < 1000 * size else f"{count / size:,.0f}{unit}"
            )
    return str(count)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
