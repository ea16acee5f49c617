"""The configuration: validated against its schema, with defaults filled in and references checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from needlework import safe_yaml
from needlework.benchmarks.benchmark import check_benchmark, load_benchmark
from needlework.benchmarks.contract import Config
from needlework.data.corpora.registry import (
    CORPORA,
    OWN_FORMATS,
    OWN_PARAGRAPHS,
    OWN_PASSAGES,
    base_of,
    languages_of,
    local_files,
)
from needlework.errors import UserError
from needlework.models.logs.files import answer_files
from needlework.models.selection import READERS
from needlework.planning.complaints import KeyedError, check_named, first_complaint, nearest
from needlework.planning.config_files import check_values, one_line, quoted
from needlework.planning.configuration import ROOT, filled, plain, with_defaults
from needlework.planning.layers import block
from needlework.planning.model_checks import check_models, left_out
from needlework.planning.secret_checks import check_published_values
from needlework.settings.run import Limit

# File systems take 255 bytes a name, and endings follow.
LONGEST_NAME = 100


def validated(config: Config) -> dict[str, Any]:
    """A copy of `config` with every default filled in.

    Raises UserError with one sentence that names the key, the value and the remedy, and quotes no more than
    the beginning of a long value; KeyedError where one key is to blame.
    """
    try:
        return _validated(config)
    except KeyedError as error:
        raise KeyedError(one_line(str(error)), error.path) from None
    except UserError as error:
        raise UserError(one_line(str(error))) from None
    except OSError as error:
        raise UserError(
            one_line(
                f"{error.filename} cannot be read ({error.strerror}): correct the path, or its permissions."
            )
        ) from None


def _validated(config: Config) -> dict[str, Any]:
    try:
        config = plain(config)
    except RecursionError:
        raise UserError(
            "the configuration holds a value that contains itself (an anchor `&` and an alias `*` in a "
            "file): write it out."
        ) from None
    check_values(config)
    try:
        full = with_defaults(config)
    except ValidationError as error:
        raise first_complaint(error, config) from None
    config = full
    limit = config["run"]["limit"]
    if isinstance(limit, int):
        config["run"]["limit"] = filled(Limit(), {})
        _limit_questions(config["benchmarks"], limit)
    check_published_values(config)
    _find_own_files(config)
    _check_run(config)
    absent = set(left_out(config))
    config["run"]["models"] = [name for name in config["run"]["models"] if name not in absent]
    for own in config["benchmarks"].values():
        _choose_languages(own, config["corpora"])
    for name, own in _benchmarks(config):
        own.update(load_benchmark(name).plan.decided(own))
    for check in (
        _check_corpora,
        _check_retrieval,
        check_models,
        _check_translation,
        _check_benchmarks,
    ):
        check(config)
    for name, model in config["models"].items():
        model["chat_template"] = _of_workflow(model["chat_template"])
        if name in config["run"]["models"]:
            model["answers"] = answer_files(model["answers"], f"models.{name}.answers")
    return config


def _limit_questions(node: Any, limit: int) -> None:
    """Let each benchmark ask at most `limit` questions per cell: the keys `questions` and `examples`."""
    for key, value in node.items() if isinstance(node, dict) else ():
        if key in ("questions", "examples") and (value == "all" or isinstance(value, int)):
            node[key] = limit if value == "all" else min(value, limit)
        for child in value if isinstance(value, list) else [value]:
            _limit_questions(child, limit)


def _of_workflow(path: str | None) -> str | None:
    """A path in the workflow's folder where the run's has none: a preset names the workflow's own files."""
    own = path and ROOT / path
    return str(own) if own and not Path(str(path)).exists() and own.exists() else path


def _find_own_files(config: Mapping[str, Any]) -> None:
    """Find the files of the user's data and language among the workflow's own, as of a preset's example."""
    for corpus in config["corpora"].values():
        for data in corpus["languages"].values():
            data["files"] = [_of_workflow(path) for path in data["files"]]
    for name in ("oneruler", "mlongrr"):
        config["sources"][name]["folder"] = _of_workflow(config["sources"][name]["folder"])
    for own in config["benchmarks"].values():
        for lang, given in own.get("instructions", {}).items():
            if isinstance(given, str):
                own["instructions"][lang] = _of_workflow(given)


def _choose_languages(own: dict[str, Any], corpora: Mapping[str, Any]) -> None:
    """Fill in the languages that a benchmark leaves to the corpus of its needles."""
    if "answer_languages" not in own:
        return
    # Of an unknown corpus the schema has complained.
    known = list(languages_of(own["needles"], corpora))
    if own["answer_languages"] is None:
        own["answer_languages"] = known
    if own["question_lang"] is None:
        own["question_lang"] = "en" if "en" in known else own["needle_languages"][0]


def decided(given: Config, config: Config) -> list[str]:
    """Which keys of a benchmark have another value in `config`, which is validated, than was `given`.

    A sentence for each benchmark: other keys decide them (`Plan.decided`).
    """
    said = []
    for name, own in _benchmarks(config):
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


def notices(config: Config) -> list[str]:
    """What the benchmarks of a run leave out (`Plan.notices`), in sentences."""
    return [
        note for name, own in _benchmarks(config) for note in load_benchmark(name).plan.notices(own)
    ]


def inherited(given: Iterable[Config], config: Config) -> list[str]:
    """Which models of a run a user defined, but with the questions (`only`) of the demo's of that name."""
    files = list(given)
    return [
        f"models.{name} answers only the questions that config.yaml chooses for its model of this name "
        "(`only`): name yours otherwise, or set `only: {}`."
        for name in config["run"]["models"]
        if config["models"][name]["only"]
        and any("backend" in block(each, "models", name) for each in files)
        and not any("only" in block(each, "models", name) for each in files)
    ]


def _shown(value: Any) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)


def unknown_target(name: str, rules: Iterable[str]) -> str:
    """The error message for a target that no rule has."""
    known = {rule for rule in rules if rule != "unknown_target"}
    return f"there is no target {name!r}: {nearest(name, known)}."


def replaced_choices(files: Iterable[str | Path]) -> list[str]:
    """Which of the configuration files that were given, in their order, took back what another chose.

    A sentence each, for what `run` chooses: a later file replaces the whole list.
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


def _check_run(config: Config) -> None:
    for registry in ("models", "tokenizers", "embedders", "translators"):
        _check_names(registry, config[registry])
    check_named("run.models", config["run"]["models"], config["models"], "models")
    check_named("run.benchmarks", config["run"]["benchmarks"], config["benchmarks"], "benchmarks")
    check_named("run.tokenizers", config["run"]["tokenizers"], config["tokenizers"], "tokenizers")
    check_named("judge", filter(None, [config["judge"]]), config["models"], "models")
    if config["judge"] and config["models"][config["judge"]]["backend"] in (*READERS, "replay"):
        raise UserError(f"judge is {config['judge']!r}, which asks no model: name one that does.")


def _check_names(registry: str, names: Iterable[str]) -> None:
    """Raise UserError where a name cannot be part of a path, or two would be the same on some systems."""
    folded: dict[str, str] = {}
    for name in names:
        if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*", name):
            raise KeyedError(
                f"{registry} has the name {quoted(name)}, but names are parts of paths: use the letters "
                "A to Z, digits, '.', '-' and '_'.",
                [registry, name],
            )
        if len(name) > LONGEST_NAME:
            raise UserError(
                f"{registry} has the name {name[:40]!r}..., of {len(name)} characters, but names "
                f"are parts of paths: take one of at most {LONGEST_NAME}."
            )
        other = folded.setdefault(name.lower(), name)
        if other != name:
            raise UserError(
                f"{registry} has the names {other!r} and {name!r}, which are the same file where a file "
                "system ignores case: rename one of them."
            )


def _check_corpora(config: Config) -> None:
    """Raise UserError where a corpus of the user's has no name, data or column that can be used."""
    for name, entry in config["corpora"].items():
        where = f"corpora.{name}"
        if not re.fullmatch("[a-z0-9_]+", name) or base_of(name) != name:
            raise UserError(
                f"corpora.{quoted(name)} is not a valid name: use small letters, digits and '_', and do not "
                f"end it with {OWN_PASSAGES!r} or {OWN_PARAGRAPHS!r}."
            )
        if len(name) > LONGEST_NAME:
            raise UserError(
                f"{where} has a name of {len(name)} characters, but names are parts of paths: take one of at "
                f"most {LONGEST_NAME}."
            )
        if name in CORPORA:
            raise UserError(f"{where} is already the name of a corpus: choose another name.")
        for lang, data in entry["languages"].items():
            _check_data(f"{where}.languages.{lang}", data)


def _check_data(where: str, data: Mapping[str, Any]) -> None:
    """Raise UserError where a data set is neither of the hub, at a commit, nor of local files."""
    if data["files"]:
        for pattern in data["files"]:
            if Path(pattern).is_dir():
                raise UserError(
                    f"{where}.files: {pattern} is a folder: name the files in it, as in "
                    f"{Path(pattern) / '*.parquet'}."
                )
        found = local_files(data["files"])
        if not found:
            raise UserError(f"{where}.files: {data['files'][0]} is not a file: correct the path.")
        for file in found:
            if "::" in file:
                # The package that reads them takes `::` for a file within an archive.
                raise UserError(
                    f"{where}.files: {file} has '::' in its name, which cannot be read: rename it."
                )
        endings = {Path(file).suffix for file in found}
        if len(endings) > 1 or not endings <= set(OWN_FORMATS):
            raise UserError(
                f"{where}.files end in {', '.join(sorted(endings))}: give files of one kind, with the ending "
                f"{' or '.join(OWN_FORMATS)}."
            )


def _check_retrieval(config: Config) -> None:
    name = config["retrieval"]["embedder"]
    check_named("retrieval.embedder", [name], config["embedders"], "embedders")


def _check_translation(config: Config) -> None:
    name = config["translation"]["translator"]
    check_named("translation.translator", [name], config["translators"], "translators")


def _check_benchmarks(config: Config) -> None:
    for name, _ in _benchmarks(config):
        check_benchmark(name, config)


def _benchmarks(config: Config) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in config["run"]["benchmarks"]:
        yield name, config["benchmarks"][name]
