"""The pairs of `run.audits`: which models `snakemake audit` asks, and what cannot be compared."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any, NamedTuple

from needlework.benchmarks.benchmark import load_benchmark
from needlework.benchmarks.contract import Config
from needlework.errors import UserError
from needlework.folders import matching
from needlework.given import given
from needlework.models.engine_arguments import answer_arguments
from needlework.models.selection import CONTROLS, only_of
from needlework.planning.affects import affecting, not_affecting
from needlework.planning.known_names import check_named

# The others compute their answers without a model.
MODELS = ("vllm", "openvino", "transformers", "openai", "inspect")
# Both must be asked the same.
_ALIKE = ("tokenizer", "lengths", "only", "samples")
# Keys that change which requests are answered or how answers are read, and are part of no request's key.
_IN_NO_KEY = {"context", "max_failed", "samples", "thoughts", "trust_remote_code"}


class Audit(NamedTuple):
    """A model without and with a setting, and the share by which no cell may be worse, if there is one."""

    base: str
    changed: str
    worse_than: float | None


def audits(config: Config) -> list[Audit]:
    """The audits of a run."""
    return [
        Audit(pair["base"], pair["changed"], pair.get("fail_if_worse_by"))
        for pair in config["run"]["audits"]
    ]


def check_audits(config: Config) -> None:
    """Raise UserError for a pair of `run.audits` that was not asked the same, or would share its answers."""
    seen = set()
    for base, changed, _ in audits(config):
        check_named(
            "run.audits", (base, changed), dict.fromkeys(config["run"]["models"]), "run.models"
        )
        pair = f"{base} and {changed}"
        if base == changed or (base, changed) in seen or (changed, base) in seen:
            raise UserError(
                f"run.audits names {pair} {'as a pair' if base == changed else 'twice'}: name two models, "
                "each pair once."
            )
        seen.add((base, changed))
        _check_pair(config, base, changed)
    if by := config["audit"]["by"]:
        asked = {f for b in config["run"]["benchmarks"] for f in load_benchmark(b).asked}
        check_named("audit.by", by, dict.fromkeys(sorted(asked)), "the factors of run.benchmarks")


def check_shared(config: Config) -> None:
    """Raise UserError if models of the run at different addresses would share their answers."""
    for one, two in combinations(config["run"]["models"], 2):
        first, second = (config["models"][name] for name in (one, two))
        differ = any(first.get(key) != second.get(key) for key in ("base_url", "args"))
        if differ and _identity(first) == _identity(second):
            raise UserError(
                f"models.{two} would share its answers with models.{one}, since only their addresses differ: "
                f"set models.{two}.variant to a name for this server, or leave one of them out."
            )


def _check_pair(config: Config, base: str, changed: str) -> None:
    pair = {name: config["models"][name] for name in (base, changed)}
    for name, entry in pair.items():
        if entry["backend"] not in MODELS:
            raise UserError(
                f"run.audits names {name}, whose backend {entry['backend']} runs no model: name models with "
                f"the backend {', '.join(MODELS[:-1])} or {MODELS[-1]}."
            )
    for key in _ALIKE:
        one, two = (entry[key] for entry in pair.values())
        if one != two:
            raise UserError(
                f"run.audits: {base} and {changed} have different `{key}`, so they are not asked the same "
                f"prompts: give models.{changed} the `{key}` of models.{base}."
            )
    if _identity(pair[base]) == _identity(pair[changed]):
        other = ", ".join(_different(pair[base], pair[changed])) or "nothing"
        raise UserError(
            f"run.audits: {base} and {changed} would share their answers, since what differs between them "
            f"({other}) does not tell answers apart: set models.{changed}.variant to a name for this setting."
        )


def _identity(entry: dict[str, Any]) -> dict[str, Any]:
    """What tells a model's answers from those of another entry, as far as the configuration knows."""
    own = affecting("models", entry, "answers")
    # vLLM's limit changes only answers near it.
    engine = {k: v for k, v in answer_arguments(entry["engine"]).items() if k != "max_model_len"}
    return {k: v for k, v in own.items() if k not in _IN_NO_KEY} | {"engine": engine}


def _different(one: dict[str, Any], two: dict[str, Any]) -> Iterable[str]:
    """The keys of two entries that differ."""
    for key in one:
        if key == "engine":
            names = sorted({*one[key], *two[key]})
            yield from (f"engine.{n}" for n in names if one[key].get(n) != two[key].get(n))
        elif one[key] != two[key]:
            yield key


def changes(config: Config, base: str, changed: str) -> dict[str, tuple[Any, Any]]:
    """The settings in which a pair's two models differ, by key: (base model's value, changed model's value).

    Without what affects nothing, and without addresses, which may be private.
    """
    one, two = (
        not_affecting("models", config["models"][name], "nothing", "place")
        for name in (base, changed)
    )
    found = {}
    for name in _different(one, two):
        key, _, argument = name.partition(".")
        values = [own[key].get(argument) if argument else own[key] for own in (one, two)]
        found[name] = (values[0], values[1])
    return found


# Which sides `snakemake compare` compares, and where their scores lie: for planning.


def sides(config: Config, benchmark: str) -> dict[str, str]:
    """The score files of a benchmark by side: a model of this run, or `<run>/<model>` of another.

    Raises UserError where a folder in `runs` holds no scores of the benchmark.
    """
    found = {
        model: f"results/scores/{model}/{benchmark}.parquet" for model in config["run"]["models"]
    }
    for run, folder in config["runs"].items():
        if "/" in run:
            raise UserError(
                f"runs has the name {run!r}, but a model of it is named <run>/<model>: take a name without "
                "'/'."
            )
        files = matching(folder, f"results/scores/*/{benchmark}.parquet")
        if not files:
            raise UserError(
                f"runs.{run}: {folder} holds no results/scores/<model>/{benchmark}.parquet: name the "
                "folder in which that run's `results` lie, or leave the benchmark out."
            )
        found |= {f"{run}/{file.parent.name}": str(file) for file in files}
    return found


def compared(config: Config, benchmark: str) -> dict[str, str]:
    """The score files of the sides that `pairs` names. Raises UserError as both do."""
    known, named = sides(config, benchmark), pairs(config, benchmark)
    return {side: known[side] for first, second, _ in named for side in (first, second)}


def pairs(config: Config, benchmark: str) -> list[tuple[str, str, bool]]:
    """The pairs to compare: (first model, second model, whether both must have had the same prompts).

    Models of this run with different tokenizers have other prompts for the same questions. Sides of
    different runs must have the same. A model that is asked nothing is compared where `compare` names it,
    or with another run. Controls are compared where `compare` names them, or there is no
    other pair: each further test makes Holm's correction of the others stricter.

    Raises UserError where `compare` names what is no side, or a pair twice, or there is nothing to compare.
    """
    known = sides(config, benchmark)
    own = config["run"]["models"]
    wanted = [tuple(pair) for pair in config["compare"]]
    for pair in wanted:
        check_named("compare", pair, known, "run.models, or <run>/<model> of runs")
        if pair[::-1] in wanted:
            raise UserError(
                f"compare names {pair[0]} and {pair[1]} twice, in both orders: leave one pair out."
            )
    if not wanted and config["runs"]:
        wanted = [
            (other, model)
            for model in own
            for other in known
            if other not in own and other.split("/", 1)[1] == model
        ] or [(other, model) for model in own for other in known if other not in own]
    elif not wanted:
        asked = [
            m for m in own if only_of(given(config["models"][m]), benchmark).get("task", True) != []
        ]
        models = [model for model in asked if config["models"][model]["backend"] not in CONTROLS]
        wanted = list(combinations(models, 2)) or list(combinations(asked, 2))
    if not wanted:
        raise UserError(
            "there is nothing to compare: name a second model in run.models, or another run in `runs`."
        )
    tokenizers = {model: config["models"][model]["tokenizer"] for model in own}
    return [
        (a, b, tokenizers.get(a) == tokenizers.get(b) or not {a, b} <= set(own)) for a, b in wanted
    ]
