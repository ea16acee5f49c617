"""The checkups of `run.doctor`: which models cannot be checked, and which pairs cannot be compared."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.benchmark import load_benchmark
from needlework.errors import UserError
from needlework.models.engine_arguments import answer_arguments
from needlework.planning.affects import affecting, not_affecting
from needlework.planning.chosen import models_of
from needlework.planning.known_names import check_named

if TYPE_CHECKING:
    from needlework.models.settings import AnyModel
    from needlework.planning.configuration import Configuration
    from needlework.settings.run import Checkup

# The others compute their answers without a model.
MODELS = ("vllm", "openvino", "transformers", "openai", "inspect")
# Both must be asked the same.
_ALIKE = ("tokenizer", "lengths", "only", "samples")
# Keys that change which requests are answered or how answers are read, and are part of no request's key.
_IN_NO_KEY = {"context", "max_failed", "samples", "thoughts", "trust_remote_code"}


def check_doctor(config: Configuration) -> None:
    """Raise UserError for a checkup of `run.doctor` that cannot be made.

    Its models were asked different prompts, or would share their answers.
    """
    seen = set()
    for checkup in config.run.doctor:
        names = [name for name in (checkup.model, checkup.against) if name is not None]
        check_named("run.doctor", names, config.run.models, "run.models")
        if checkup.model in seen:
            raise UserError(f"run.doctor names the model {checkup.model} twice: check it once.")
        if checkup.against == checkup.model:
            raise UserError(
                f"run.doctor compares {checkup.model} with itself: name another model, or leave out "
                "`against`."
            )
        if checkup.fail_if_worse_by is not None and checkup.against is None:
            raise UserError(
                f"run.doctor has `fail_if_worse_by` for {checkup.model}, which is compared with no other "
                "model: set `against`, or leave it out."
            )
        seen.add(checkup.model)
        for name in names:
            if config.models[name].backend not in MODELS:
                raise UserError(
                    f"run.doctor names {name}, whose backend {config.models[name].backend} runs no model: "
                    f"name models with the backend {', '.join(MODELS[:-1])} or {MODELS[-1]}."
                )
        if checkup.against is not None:
            _check_pair(config, checkup.against, checkup.model)
    if by := config.doctor.by:
        asked = {f for b in config.run.benchmarks for f in load_benchmark(b).asked}
        check_named("doctor.by", by, asked, "the factors of run.benchmarks")


def check_shared(config: Configuration) -> None:
    """Raise UserError if models of the run at different addresses would share their answers."""
    for (one, first), (two, second) in combinations(models_of(config), 2):
        addresses = [
            [dict(own).get(key) for key in ("base_url", "args")] for own in (first, second)
        ]
        if addresses[0] != addresses[1] and _identity(first) == _identity(second):
            raise UserError(
                f"models.{two} would share its answers with models.{one}, since only their addresses differ: "
                f"set models.{two}.variant to a name for this server, or leave one of them out."
            )


def _check_pair(config: Configuration, base: str, changed: str) -> None:
    pair = {name: config.models[name] for name in (base, changed)}
    one, two = map(dict, pair.values())
    for key in _ALIKE:
        if one[key] != two[key]:
            raise UserError(
                f"run.doctor: {base} and {changed} have different `{key}`, so they are not asked the same "
                f"prompts: give models.{changed} the `{key}` of models.{base}."
            )
    if _identity(pair[base]) == _identity(pair[changed]):
        other = ", ".join(_different(one, two)) or "nothing"
        raise UserError(
            f"run.doctor: {base} and {changed} would share their answers, since what differs between them "
            f"({other}) does not tell answers apart: set models.{changed}.variant to a name for this setting."
        )


def _identity(entry: AnyModel) -> dict[str, Any]:
    """What tells a model's answers from those of another entry, as far as the configuration knows."""
    own = affecting("models", entry, "answers")
    # vLLM's limit changes only answers near it.
    engine = {k: v for k, v in answer_arguments(own["engine"]).items() if k != "max_model_len"}
    return {k: v for k, v in own.items() if k not in _IN_NO_KEY} | {"engine": engine}


def _different(one: dict[str, Any], two: dict[str, Any]) -> Iterable[str]:
    """The keys of two entries that differ."""
    for key in one:
        if key == "engine":
            names = sorted({*one[key], *two[key]})
            yield from (f"engine.{n}" for n in names if one[key].get(n) != two[key].get(n))
        elif one[key] != two[key]:
            yield key


def changes(config: Configuration, checkup: Checkup) -> dict[str, tuple[Any, Any]]:
    """The settings in which a checkup's two models differ, by key: (the other's value, the model's value).

    Settings that affect nothing are left out, and so are addresses, which may be private. None without
    another model.
    """
    if checkup.against is None:
        return {}
    one, two = (
        not_affecting("models", config.models[name], "nothing", "place")
        for name in (checkup.against, checkup.model)
    )
    found = {}
    for name in _different(one, two):
        key, _, argument = name.partition(".")
        values = [own[key].get(argument) if argument else own[key] for own in (one, two)]
        found[name] = (values[0], values[1])
    return found
