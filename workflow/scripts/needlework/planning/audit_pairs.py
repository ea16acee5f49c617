"""The pairs of `run.audits`: the models that `snakemake audit` asks, and pairs that cannot be compared."""

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

# The others compute their answers without a model.
MODELS = ("vllm", "openvino", "transformers", "openai", "inspect")
# Both must be asked the same.
_ALIKE = ("tokenizer", "lengths", "only", "samples")
# Keys that change which requests are answered or how answers are read, and are part of no request's key.
_IN_NO_KEY = {"context", "max_failed", "samples", "thoughts", "trust_remote_code"}


def check_audits(config: Configuration) -> None:
    """Raise UserError for a pair of `run.audits` that cannot be compared.

    Its models were asked different prompts, or would share their answers.
    """
    seen = set()
    for named in config.run.audits:
        base, changed = named.base, named.changed
        check_named("run.audits", (base, changed), config.run.models, "run.models")
        pair = f"{base} and {changed}"
        if base == changed or (base, changed) in seen or (changed, base) in seen:
            raise UserError(
                f"run.audits names {pair} {'as a pair' if base == changed else 'twice'}: name two models, "
                "each pair once."
            )
        seen.add((base, changed))
        _check_pair(config, base, changed)
    if by := config.audit.by:
        asked = {f for b in config.run.benchmarks for f in load_benchmark(b).asked}
        check_named("audit.by", by, asked, "the factors of run.benchmarks")


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
    for name, entry in pair.items():
        if entry.backend not in MODELS:
            raise UserError(
                f"run.audits names {name}, whose backend {entry.backend} runs no model: name models with "
                f"the backend {', '.join(MODELS[:-1])} or {MODELS[-1]}."
            )
    one, two = map(dict, pair.values())
    for key in _ALIKE:
        if one[key] != two[key]:
            raise UserError(
                f"run.audits: {base} and {changed} have different `{key}`, so they are not asked the same "
                f"prompts: give models.{changed} the `{key}` of models.{base}."
            )
    if _identity(pair[base]) == _identity(pair[changed]):
        other = ", ".join(_different(one, two)) or "nothing"
        raise UserError(
            f"run.audits: {base} and {changed} would share their answers, since what differs between them "
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


def changes(config: Configuration, base: str, changed: str) -> dict[str, tuple[Any, Any]]:
    """The settings in which a pair's two models differ, by key: (base model's value, changed model's value).

    Settings that affect nothing are left out, and so are addresses, which may be private.
    """
    one, two = (
        not_affecting("models", config.models[name], "nothing", "place") for name in (base, changed)
    )
    found = {}
    for name in _different(one, two):
        key, _, argument = name.partition(".")
        values = [own[key].get(argument) if argument else own[key] for own in (one, two)]
        found[name] = (values[0], values[1])
    return found
