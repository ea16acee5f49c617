"""Which sides `snakemake compare` compares, and where their scores lie."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from needlework.errors import UserError
from needlework.folders import matching
from needlework.models.selection import CONTROLS
from needlework.planning.chosen import asked_of
from needlework.planning.known_names import check_named

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration


def sides(config: Configuration, benchmark: str) -> dict[str, str]:
    """The score files of a benchmark by side: a model of this run, or `<run>/<model>` of another.

    Raises UserError if a folder in `runs` holds no scores of the benchmark.
    """
    found = {m: f"results/scores/{m}/{benchmark}.parquet" for m in config.run.models}
    for run in config.runs:
        folder = config.runs[run]
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


def compared_files(config: Configuration, benchmark: str) -> dict[str, str]:
    """The score files of the sides that `pairs` names. Raises UserError as both do."""
    known, named = sides(config, benchmark), pairs(config, benchmark)
    return {side: known[side] for first, second, _ in named for side in (first, second)}


def pairs(config: Configuration, benchmark: str) -> list[tuple[str, str, bool]]:
    """The pairs to compare: (first model, second model, whether both must have had the same prompts).

    Models of this run with different tokenizers have different prompts for the same questions. Models of
    different runs must have had the same prompts.

    A model that this run does not ask is compared only if `compare` names it, or with another run. Controls
    are compared only if `compare` names them, or if there is no other pair: each further test makes Holm's
    correction of the others stricter.

    Raises UserError if `compare` names an unknown model or run, or a pair twice, or if there is nothing to
    compare.
    """
    known = sides(config, benchmark)
    own = config.run.models
    wanted = [(first, second) for first, second in config.compare]
    for pair in wanted:
        check_named("compare", pair, known, "run.models, or <run>/<model> of runs")
        if pair[::-1] in wanted:
            raise UserError(
                f"compare names {pair[0]} and {pair[1]} twice, in both orders: leave one pair out."
            )
    if not wanted and config.runs:
        wanted = [
            (other, model)
            for model in own
            for other in known
            if other not in own and other.split("/", 1)[1] == model
        ] or [(other, model) for model in own for other in known if other not in own]
    elif not wanted:
        asked = [m for m in own if asked_of(config, m, benchmark).get("task", True) != []]
        models = [model for model in asked if config.models[model].backend not in CONTROLS]
        wanted = list(combinations(models, 2)) or list(combinations(asked, 2))
    if not wanted:
        raise UserError(
            "there is nothing to compare: name a second model in run.models, or another run in `runs`."
        )
    tokenizers = {model: config.models[model].tokenizer for model in own}
    return [
        (a, b, tokenizers.get(a) == tokenizers.get(b) or not {a, b} <= set(own)) for a, b in wanted
    ]
