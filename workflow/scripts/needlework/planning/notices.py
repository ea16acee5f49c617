"""Sentences on decisions of a run, on data that it left out or took elsewhere, and on unknown targets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework import safe_yaml
from needlework.benchmarks.benchmark import load_benchmark
from needlework.planning.chosen import benchmarks_of, models_of
from needlework.planning.configuration import plain
from needlework.planning.known_names import GONE_TARGETS, nearest
from needlework.planning.layers import block
from needlework.planning.values import quoted

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration


def decided(given: Mapping[str, Any], config: Configuration) -> list[str]:
    """One sentence per benchmark: which of its keys have another value in `config` than was `given`.

    `config` is validated. Other keys decide the values of these keys (`Plan.decided`).
    """
    said = []
    for name, own in benchmarks_of(config):
        mine = plain(given.get("benchmarks", {}).get(name, {}))
        other = [
            key
            for key in load_benchmark(name).plan.decided(own)
            if mine.get(key, own[key]) != own[key]
        ]
        if other:
            shown = ", ".join(
                f"{key}: {_shown(own[key])} (not {_shown(mine[key])})" for key in other
            )
            said.append(f"benchmarks.{name}: other keys decide {shown}.")
    return said


def notices(config: Configuration) -> list[str]:
    """Sentences on prompts or data that the run's benchmarks leave out (`Plan.notices`)."""
    return [
        note
        for name, own in benchmarks_of(config)
        for note in load_benchmark(name).plan.notices(own)
    ]


def inherited(given: Iterable[Mapping[str, Any]], config: Configuration) -> list[str]:
    """Which models of a run a user defined, but with the questions (`only`) of the demo's of that name."""
    files = list(given)
    return [
        f"models.{name} answers only the questions that config.yaml chooses for its model of this name "
        "(`only`): name yours otherwise, or set `only: {}`."
        for name, model in models_of(config)
        if model.only
        and any("backend" in block(each, "models", name) for each in files)
        and not any("only" in block(each, "models", name) for each in files)
    ]


def _shown(value: Any) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)


def unknown_target(name: str, rules: Iterable[str]) -> str:
    """The error message for a target that no rule has."""
    known = {rule for rule in rules if rule != "unknown_target"}
    return f"there is no target {name!r}: {GONE_TARGETS.get(name) or nearest(name, known)}."


def replaced_choices(files: Iterable[str | Path]) -> list[str]:
    """One sentence for each choice under `run` that a later configuration file replaced.

    `files` are the given configuration files, in order. A later file replaces a whole list.
    """
    said: list[str] = []
    chosen: dict[str, tuple[Any, Any]] = {}
    for file in files:
        content = safe_yaml.read(file)
        run = content.get("run") if isinstance(content, Mapping) else None
        for key, names in (run if isinstance(run, Mapping) else {}).items():
            if key in chosen and chosen[key][1] != names:
                earlier, before = chosen[key]
                said.append(
                    f"run.{key} is {quoted(names)}, from {file}, and not {quoted(before)}, from {earlier}: "
                    "the last --configfile wins, so name your own after the presets."
                )
            chosen[key] = file, names
    return said
