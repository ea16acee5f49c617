"""What a run chooses in its configuration: models, benchmarks, and the prompts that each model gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from needlework.contract import block_of
from needlework.models.selection import only_of

if TYPE_CHECKING:
    from needlework.models.settings import AnyModel
    from needlework.planning.configuration import Configuration


def models_of(config: Configuration) -> Iterator[tuple[str, AnyModel]]:
    """The models of a run, by name."""
    for name in config.run.models:
        yield name, config.models[name]


def benchmarks_of(config: Configuration) -> Iterator[tuple[str, Any]]:
    """The benchmarks of a run, with their blocks."""
    for name in config.run.benchmarks:
        yield name, block_of(config, name)


def known_lengths(config: Configuration, benchmark: str) -> tuple[int, ...] | None:
    """The prompt lengths of a benchmark; None if it has none."""
    return getattr(config.benchmarks[benchmark], "lengths", None)


def metric_of(config: Configuration, benchmark: str) -> str | None:
    """The metric of a benchmark's tables and figures; None if it has only one."""
    return getattr(config.benchmarks[benchmark], "metric", None)


def asked_of(config: Configuration, model: str, benchmark: str) -> dict[str, list[object]]:
    """The part of a benchmark's prompts that a model is asked (its `only`); empty if it is asked all."""
    return only_of(config.models[model], benchmark)


def lengths_of(config: Configuration, model: str, benchmark: str) -> list[int]:
    """The prompt lengths that a model gets of a benchmark: its `lengths`, as far as `only` has them."""
    own = config.models[model].lengths
    if isinstance(own, Mapping):
        own = own.get(benchmark)
    lengths = (known_lengths(config, benchmark) or ()) if own is None else own
    wanted = asked_of(config, model, benchmark).get("length", lengths)
    return sorted(length for length in lengths if length in wanted)
