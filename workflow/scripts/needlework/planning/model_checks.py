"""Checks of the models of a run: lengths, requests, and backends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from needlework.benchmarks.benchmark import load_benchmark
from needlework.data.packaged import is_packaged, packaged_is_installed
from needlework.errors import UserError
from needlework.installed import weights_command
from needlework.models.selection import COLUMNS, check_room, shared
from needlework.models.thoughts import reasoning_of
from needlework.planning.chosen import asked_of, benchmarks_of, known_lengths, lengths_of, models_of
from needlework.planning.known_names import check_named

if TYPE_CHECKING:
    from needlework.models.settings import AnyModel
    from needlework.planning.configuration import Configuration
    from needlework.settings.tokenizers import Tokenizer

# What a factor's type allows in `only`.
_KINDS = {"string": (str,), "int32": (int,), "double": (int, float), "bool": (bool,)}


def check_lengths(config: Configuration, name: str, overhead: int) -> None:
    """Raise UserError if a model's longest length and `overhead` more tokens exceed its context.

    `overhead` is the number of tokens of chat template and reasoning, as far as it is known. Benchmarks whose
    lengths are not in tokens are skipped (`Plan.spare` is None).
    """
    model = config.models[name]
    reserve = config.tokenizers[model.tokenizer].reserve
    taken = 0
    for benchmark, own in benchmarks_of(config):
        spare = load_benchmark(benchmark).plan.spare(own)
        asked = asked_of(config, name, benchmark).get("task", True) != []
        if spare is not None and asked:
            longest = max(lengths_of(config, name, benchmark), default=0)
            taken = max(taken, longest - reserve - spare)
    limit = _engine_limit(model)
    shorter = limit is not None and limit < model.context
    check_room(name, model, taken, overhead, reserve, limit if shorter else None)


def _engine_limit(model: AnyModel) -> int | None:
    """The context that vLLM's engine is given; None if it is left to vLLM (-1)."""
    limit = dict(model.engine).get("max_model_len")
    return limit if isinstance(limit, int) and limit >= 0 else None


def models_left_out(config: Configuration) -> list[str]:
    """The optional models of a run whose weights are in a package that is not installed.

    Raises UserError if there is no other model.
    """
    found = [
        name
        for name, model in models_of(config)
        if model.optional
        and model.name
        and is_packaged(model.name)
        and not packaged_is_installed(model.name)
    ]
    if found and len(found) == len(config.run.models):
        raise UserError(
            f"run.models has only {', '.join(found)}, whose weights are not installed: run "
            f"`{weights_command()}`."
        )
    return found


def check_models(config: Configuration) -> None:
    """Raise UserError if a key of a model of the run, or of the judge, does not fit the other keys."""
    judge = [(config.judge, config.models[config.judge])] if config.judge else []
    for name, model in dict([*models_of(config), *judge]).items():
        where = f"models.{name}"
        check_named(f"{where}.tokenizer", [model.tokenizer], config.tokenizers, "tokenizers")
        _check_remote_code(f"tokenizers.{model.tokenizer}", config.tokenizers[model.tokenizer])
        _check_remote_code(where, model)
        _check_lengths_of(config, name)
        _check_only(config, name)


def _check_lengths_of(config: Configuration, name: str) -> None:
    """Raise UserError if a model's `lengths` are not those of benchmarks, or exceed a limit of the model."""
    model, where = config.models[name], f"models.{name}"
    if isinstance(model.lengths, Mapping):
        check_named(f"{where}.lengths", model.lengths, config.benchmarks, "benchmarks")
        for benchmark in model.lengths:
            if known_lengths(config, benchmark) is None:
                raise UserError(
                    f"{where}.lengths names {benchmark!r}, whose prompts have no lengths to choose "
                    "among: leave it out."
                )
    # A judge is asked no benchmark.
    if name not in config.run.models:
        return
    for benchmark in config.run.benchmarks:
        _check_lengths_in(config, name, benchmark)
    check_lengths(config, name, thoughts_of(model))


def thoughts_of(model: AnyModel) -> int:
    """The limit of a model's reasoning tokens; 0 if it gets none."""
    reasoning = reasoning_of(model)
    return reasoning.max_tokens if reasoning else 0


def _check_lengths_in(config: Configuration, name: str, benchmark: str) -> None:
    model, where = config.models[name], f"models.{name}"
    if (known := known_lengths(config, benchmark)) is None:
        return
    if asked_of(config, name, benchmark).get("task", True) == []:
        return  # Nothing is asked.
    wanted = lengths_of(config, name, benchmark)
    for length in wanted:
        if length not in known:
            raise UserError(
                f"{where}.lengths has {length}, which is not among benchmarks.{benchmark}.lengths "
                f"({', '.join(map(str, known))}): add it there, leave it out here, or name the "
                f"lengths of each benchmark here, as in `lengths: {{{benchmark}: [{known[0]}]}}`."
            )
    longest = max(wanted, default=0)
    if longest > model.context:
        raise UserError(
            f"{where}: the length {longest} is above the model's context of "
            f"{model.context} tokens: {_fitting(config, name)}."
        )
    limit = _engine_limit(model)
    if limit is not None and limit < longest:
        raise UserError(
            f"{where}: the length {longest} is above engine.max_model_len, {limit}: raise it, "
            "or leave the length out of this model's `lengths`."
        )


def _check_remote_code(where: str, entry: AnyModel | Tokenizer) -> None:
    """Raise UserError if code of the hub would be run at whatever commit it has today."""
    name: str | None = getattr(entry, "name", None)
    pinned = getattr(entry, "revision", None) or not getattr(entry, "trust_remote_code", False)
    if name and not pinned and not Path(name).is_dir():
        raise UserError(
            f"{where}.revision is missing: trust_remote_code runs the code of {name}. Read that code on "
            "its page of the hub (Files and versions), and copy the commit's 40 digits to `revision`."
        )


def _check_only(config: Configuration, name: str) -> None:
    """Raise UserError if a model's `only` names no benchmark or factor, or a value of another type."""
    only, where = config.models[name].only, f"models.{name}.only"
    factors = {b: dict(load_benchmark(b).columns) for b in config.run.benchmarks}
    own = dict.fromkeys(COLUMNS, "string")
    of_all = shared(only)
    of_one = {b: each for b in only if isinstance(each := only[b], Mapping)}
    check_named(where, of_one, config.benchmarks, "benchmarks")
    every = {key: kind for each in factors.values() for key, kind in each.items()}
    named: list[tuple[str, str, Mapping[str, Sequence[object]], dict[str, str]]]
    named = [("every benchmark", where, of_all, every | own)]
    named += [(b, f"{where}.{b}", of_one[b], factors[b] | own) for b in of_one if b in factors]
    for benchmark, place, values, known in named:
        check_named(place, values, known, f"the factors of {benchmark}")
        for factor, allowed in values.items():
            kinds = _KINDS[known[factor]]
            for value in allowed:
                if not isinstance(value, kinds) or isinstance(value, bool) != (kinds == (bool,)):
                    raise UserError(
                        f"{place}.{factor} has {value!r}, but is of type {known[factor]}: correct it."
                    )


def _fitting(config: Configuration, name: str) -> str:
    """What to do where some lengths of a model are above its context, in words."""
    context = config.models[name].context
    found = {}
    for benchmark in config.run.benchmarks:
        known = known_lengths(config, benchmark)
        if known is None:
            continue
        wanted = [n for n in lengths_of(config, name, benchmark) if n <= context]
        found[benchmark] = wanted or sorted(n for n in known if n <= context)
        if not found[benchmark]:
            return (
                f"add a shorter one to benchmarks.{benchmark}.lengths, of which {min(known)} is the "
                "least, or leave this model out of run.models"
            )
    (first, *others) = found.values()
    shown = ", ".join(f"{benchmark}: {lengths}" for benchmark, lengths in found.items())
    return f"set `lengths: {f'{{{shown}}}' if others else first}` for this model"
