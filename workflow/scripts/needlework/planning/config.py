"""The configuration: validated by its classes, with defaults filled in and references checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from needlework.benchmarks.benchmark import load_benchmark
from needlework.data.corpora.registry import languages_of
from needlework.errors import UserError
from needlework.given import given
from needlework.models.logs.files import answer_files
from needlework.models.selection import READERS
from needlework.planning.chosen import benchmarks_of
from needlework.planning.complaints import first_complaint
from needlework.planning.configuration import plain, with_defaults
from needlework.planning.known_names import KeyedError, check_named
from needlework.planning.model_checks import check_models, models_left_out
from needlework.planning.own_files import LONGEST_NAME, check_corpora, find_own_files, of_workflow
from needlework.planning.preflight.secrets import check_published_values
from needlework.planning.values import check_values, one_line, quoted

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration


def validated(config: object) -> dict[str, Any]:
    """A copy of `config` with every default filled in.

    Raises UserError with one sentence that names the key, the value and the remedy. Of a long value, the
    sentence quotes only the beginning. Raises KeyedError if one key is the cause.
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


def _validated(written: object) -> dict[str, Any]:
    try:
        written = plain(written)
    except RecursionError:
        raise UserError(
            "the configuration holds a value that contains itself (an anchor `&` and an alias `*` in a "
            "file): write it out."
        ) from None
    check_values(written)
    try:
        config = with_defaults(written)
    except ValidationError as error:
        raise first_complaint(error, written) from None
    if limit := config["run"]["limit"]:
        _limit_questions(config["benchmarks"], limit)
    check_published_values(config)
    find_own_files(config)
    chosen: Configuration = given(config)
    _check_run(chosen)
    absent = set(models_left_out(chosen))
    config["run"]["models"] = [name for name in config["run"]["models"] if name not in absent]
    for own in config["benchmarks"].values():
        _choose_languages(own, config["corpora"])
    for name, own in benchmarks_of(given(config)):
        config["benchmarks"][name] |= plain(load_benchmark(name).plan.decided(own))
    full: Configuration = given(config)
    check_corpora(full)
    check_named("retrieval.embedder", [full.retrieval.embedder], full.embedders, "embedders")
    check_models(full)
    translator = full.translation.translator
    check_named("translation.translator", [translator], full.translators, "translators")
    for name in full.run.benchmarks:
        load_benchmark(name).check(full)
    for name, model in config["models"].items():
        model["chat_template"] = of_workflow(model["chat_template"])
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


def _choose_languages(own: dict[str, Any], corpora: Mapping[str, Any]) -> None:
    """Fill in the languages that a benchmark leaves to the corpus of its needles."""
    if "answer_languages" not in own:
        return
    # An unknown corpus is refused before.
    known = list(languages_of(own["needles"], corpora))
    if own["answer_languages"] is None:
        own["answer_languages"] = known
    if own["question_lang"] is None:
        own["question_lang"] = "en" if "en" in known else own["needle_languages"][0]


def _check_run(config: Configuration) -> None:
    _check_names("models", config.models)
    _check_names("tokenizers", config.tokenizers)
    _check_names("embedders", config.embedders)
    _check_names("translators", config.translators)
    run = config.run
    check_named("run.models", run.models, config.models, "models")
    check_named("run.benchmarks", run.benchmarks, config.benchmarks, "benchmarks")
    check_named("run.tokenizers", run.tokenizers, config.tokenizers, "tokenizers")
    if config.judge is None:
        return
    check_named("judge", [config.judge], config.models, "models")
    if config.models[config.judge].backend in (*READERS, "replay"):
        raise UserError(f"judge is {config.judge!r}, which asks no model: name one that does.")


def _check_names(registry: str, names: Iterable[str]) -> None:
    """Raise UserError if a name cannot be part of a path, or two would be the same on some systems."""
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
