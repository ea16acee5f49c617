"""The configuration: validated against its schema, with defaults filled in and references checked."""

from __future__ import annotations

import copy
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

from needlework import safe_yaml
from needlework.benchmarks.benchmark import check_benchmark, load_benchmark
from needlework.benchmarks.contract import Config
from needlework.benchmarks.parts import names as benchmark_names
from needlework.data.corpora.registry import (
    CORPORA,
    LANGUAGE,
    OWN_FORMATS,
    OWN_NEEDS,
    OWN_PARAGRAPHS,
    OWN_PASSAGES,
    OWN_SERVES,
    base_of,
    languages_of,
    local_files,
    serving,
)
from needlework.data.packaged import find, is_packaged
from needlework.errors import UserError
from needlework.models.engine_arguments import ELSEWHERE
from needlework.models.logs.files import answer_files
from needlework.models.room import check_room
from needlework.models.selection import COLUMNS, READERS, only_of, shared
from needlework.planning.papers import check_key_variable, check_published_values
from needlework.planning.quoting import LONGEST, quoted, with_short_quotes
from needlework.planning.requests import check_request
from needlework.planning.values import bad_path, check_values
from needlework.services.endpoints import check_url

# What the backends that have a model elsewhere call it by.
_NAMED = {
    "vllm": "a model of the hub, or a local folder",
    "openvino": "a GGUF file or an OpenVINO folder",
    "transformers": "a model of the hub, or a local folder",
    "openai": "the model's name at the endpoint",
    "inspect": "a provider and its model, such as anthropic/claude-sonnet-5",
}

# Keys that change answers, and the backends that heed them.
_ONLY = {
    "args": ("inspect",),
    "answer_prefix": ("vllm", "openvino", "transformers"),
    "batch": ("openai",),
    "chat_template": ("vllm", "openvino", "transformers"),
    "config": ("transformers",),
    "dtype": ("transformers",),
    "gated": ("vllm", "transformers"),
    "lora": ("vllm",),
    "reasoning": ("vllm", "openvino", "transformers", "inspect"),
    "request": ("openai",),
    "repeatable": ("vllm", "openvino", "transformers"),
    "rope_scaling": ("transformers",),
    "stop": ("vllm", "openvino", "transformers", "openai", "inspect"),
    "system": ("vllm", "openvino", "transformers", "openai", "inspect"),
    "template": ("vllm", "openvino", "transformers"),
    "variant": ("vllm", "openvino", "transformers", "openai", "inspect"),
}

# What a factor's type allows in `only`.
_KINDS = {"string": (str,), "int32": (int,), "double": (int, float), "bool": (bool,)}
# Of a value that is true or false and should be text, such as Norwegian's code.
_QUOTED = "YAML reads no, off, yes and on as false and true: put such a text in quotes"
# File systems take 255 bytes a name, and endings follow.
LONGEST_NAME = 100
# The most characters of a text, unless the schema says otherwise: of a name or a code; of a path; of a text
# with lines (keyword `lines`), such as a system prompt.
_CHARACTERS, _OF_A_PATH, _OF_LINES = 200, 4095, 50_000
# No line breaks and tabs; other control characters are in no value (`check_values`).
_ONE_LINE = r"^[^\t\n\r]*$"
# A number as YAML 1.2 has it, and YAML 1.1, which Snakemake reads, does not.
_NUMBER = re.compile(r"\s*[-+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]+)?\s*")

ROOT = Path(__file__).resolve().parents[4]
SCHEMA = ROOT / "workflow/schemas/config.schema.yaml"


@lru_cache(None)
def schema() -> dict[str, Any]:
    """The schema of the configuration (JSON Schema 2020-12), without the user's corpora."""
    found = safe_yaml.read(SCHEMA)
    _choices(found, {})
    _limit(found)
    return found


def _limit(node: Any) -> None:
    """Give every text of the schema its limits: how long it is, and whether it has lines."""
    if isinstance(node, list):
        for child in node:
            _limit(child)
    if not isinstance(node, dict):
        return
    types = node.get("type", ())
    if types == "string" or (isinstance(types, list) and "string" in types):
        usual = _OF_A_PATH if node.get("path") else _CHARACTERS
        node.setdefault("maxLength", _OF_LINES if node.get("lines") else usual)
        if not node.get("lines"):
            node.setdefault("pattern", _ONE_LINE)
    for child in node.values():
        _limit(child)


def _schema_with(config: Any) -> dict[str, Any]:
    """The schema, in which the user's corpora can be chosen, too, as far as these are sound."""
    own = config.get("corpora") if isinstance(config, Mapping) else None
    if not isinstance(own, Mapping) or not own:
        return schema()
    sound = {
        name: entry
        for name, entry in own.items()
        if isinstance(entry, Mapping) and entry.get("kind") in (*OWN_SERVES,)
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

    Raises UserError with one sentence that names the key, the value and the remedy. It quotes no more than
    the beginning of a long value.
    """
    try:
        return _validated(config)
    except UserError as error:
        raise UserError(with_short_quotes(str(error), config)) from None
    except OSError as error:
        where = with_short_quotes(str(error.filename), config)
        raise UserError(
            f"{where} cannot be read ({error.strerror}): correct the path, or its permissions."
        ) from None


def _validated(config: Config) -> dict[str, Any]:
    try:
        config = _plain(config)
    except RecursionError:
        raise UserError(
            "the configuration holds a value that contains itself (an anchor `&` and an alias `*` in a "
            "file): write it out."
        ) from None
    check_values(config)
    errors = sorted(
        _validator()(_schema_with(config)).iter_errors(config),
        key=lambda e: list(map(str, e.absolute_path)),
    )
    if errors:
        raise UserError(_sentence(_deepest(errors[0])))
    for model in config["models"].values():
        if model["backend"] in ("openai", "inspect"):
            # Strict endpoints refuse the field.
            model["sampling"] = {"top_k": None, **model.get("sampling", {})}
    limit = config.get("run", {}).get("limit")
    if isinstance(limit, int):
        config["run"]["limit"] = {}
    config = dict(_with_defaults(config, schema()))
    if isinstance(limit, int):
        _limit_questions(config["benchmarks"], limit)
    check_published_values(config)
    _find_own_files(config)
    _check_run(config)
    absent = set(left_out(config))
    config["run"]["models"] = [name for name in config["run"]["models"] if name not in absent]
    for own in config["benchmarks"].values():
        _choose_languages(own, config["corpora"])
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


@lru_cache(None)
def _validator() -> Any:
    """The class that validates, with the keyword `path`: what a file system takes as one."""
    import jsonschema

    def path(validator: Any, wanted: bool, value: Any, node: Any) -> Iterator[Any]:
        if wanted and isinstance(value, str) and (trouble := bad_path(value)):
            yield jsonschema.ValidationError(trouble)

    return jsonschema.validators.extend(jsonschema.Draft202012Validator, {"path": path})


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
    shown = quoted(error.instance)
    # The library begins its messages with the whole value.
    said = error.message.replace(repr(error.instance), shown)
    see = "see docs/configuration.md"
    if error.validator == "additionalProperties":
        known = list(error.schema.get("properties", {}))
        unknown = next(key for key in error.instance if key not in known)
        return f"unknown key {quoted(unknown)} in {where}: {_nearest(unknown, known)}."
    if error.validator == "required":
        missing = next(key for key in error.validator_value if key not in error.instance)
        return f"{where} lacks the key {missing!r}: {see}."
    if error.validator == "enum" and str(error.instance) in error.schema.get("replaced", {}):
        new = error.schema["replaced"][error.instance]
        return f"{where} is {shown}, which {new!r} has replaced: write {new}."
    if error.validator == "enum":
        return f"{where} is {shown}: {_nearest(error.instance, error.validator_value)}."
    if error.validator == "oneOf" and not _kinds(error):
        wanted = " or ".join(
            repr(choice["const"]) if "const" in choice else f"of type {choice['type']!r}"
            for choice in error.schema["oneOf"]
        )
        return f"{where} is {shown}, but must be {wanted}: {see}."
    if error.validator == "oneOf" and isinstance(error.instance, dict):
        kind = error.instance.get("kind")
        return f"{where}.kind is {quoted(kind)}: {_nearest(kind, _kinds(error))}."
    if error.validator == "oneOf":
        return f"{where} is {shown}, but must have the key 'kind': {see}."
    if error.validator == "type" and isinstance(error.instance, bool):
        return f"{where} is {shown}, but {said} ({_QUOTED}): {see}."
    if error.validator == "type" and isinstance(error.instance, str):
        return f"{where} is {shown}, but {said}{_as_number(error)}: {see}."
    if error.validator == "pattern" and error.validator_value == _ONE_LINE:
        return f"{where} is {shown}, which holds a tab or a line break: take it out."
    if error.validator == "maxLength":
        most, long = error.validator_value, len(error.instance)
        return f"{where} is {shown}, of {long:,} characters, but the most is {most:,}: shorten it."
    if error.validator == "path":
        return f"{where} is {shown}, but {said}: correct the path."
    return f"{where} is {shown}, but {said}: {see}."


def _as_number(error: Any) -> str:
    """How a text is written as the number that is wanted; "" where it is no number."""
    wanted = error.validator_value
    if not {"number", "integer"} & {*([wanted] if isinstance(wanted, str) else wanted)}:
        return ""
    text = error.instance
    if len(text) > LONGEST or not _NUMBER.fullmatch(text):
        return ""
    mantissa, e, exponent = text.strip().lower().partition("e")
    if not e:
        return f" (write {text.strip()} without quotes)"
    # YAML 1.1 wants a point, and the exponent's sign.
    mantissa += "" if "." in mantissa else ".0"
    exponent = exponent if exponent[0] in "+-" else f"+{exponent}"
    number = f"{mantissa}e{exponent}"
    return f" (YAML reads a number with an exponent only with a point and a sign: write {number})"


def _nearest(word: object, known: Iterable[object]) -> str:
    """The nearest known word as a question, and the known ones."""
    names = sorted(map(str, known))
    # A long word is like no name, and comparing it would take minutes.
    text = str(word) if not isinstance(word, str | list | Mapping) or len(word) <= LONGEST else ""
    near = difflib.get_close_matches(text, names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    shown = names[:30] + ["..."] * (len(names) > 30)
    return f"{hint}Known: {', '.join(shown) or '(nothing)'}"


def unknown_target(name: str, rules: Iterable[str]) -> str:
    """The error message for a target that no rule has."""
    known = {rule for rule in rules if rule != "unknown_target"}
    return f"there is no target {name!r}: {_nearest(name, known)}."


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


def check_named(key: str, names: Iterable[str], registry: Mapping[str, Any], where: str) -> None:
    """Raise UserError where one of `names`, which stand under `key`, is not in the registry `where`."""
    for name in names:
        if name not in registry:
            raise UserError(
                f"{key} names {quoted(name)}, which is not in `{where}`: {_nearest(name, registry)}."
            )


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
            raise UserError(
                f"{registry} has the name {quoted(name)}, but names are parts of paths: use the letters "
                "A to Z, digits, '.', '-' and '_'."
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
    judge = [(config["judge"], config["models"][config["judge"]])] if config["judge"] else []
    for name, model in dict([*_running(config), *judge]).items():
        where = f"models.{name}"
        benchmarks = config["run"]["benchmarks"] if name in config["run"]["models"] else []
        if isinstance(model["lengths"], Mapping):
            check_named(f"{where}.lengths", model["lengths"], config["benchmarks"], "benchmarks")
            for benchmark in model["lengths"]:
                if "lengths" not in config["benchmarks"][benchmark]:
                    raise UserError(
                        f"{where}.lengths names {benchmark!r}, whose prompts have no lengths to choose "
                        "among: leave it out."
                    )
        check_named(f"{where}.tokenizer", [model["tokenizer"]], config["tokenizers"], "tokenizers")
        own = config["tokenizers"][model["tokenizer"]]
        _check_remote_code(f"tokenizers.{model['tokenizer']}", own)
        _check_remote_code(where, model)
        for benchmark in benchmarks:
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
        if benchmarks:
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
        _check_date(where, model["template"])
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
        if model["backend"] == "inspect":
            _check_provider(where, model)
        elif (model["reasoning"] or {}).get("effort"):
            raise UserError(
                f"{where}.reasoning.effort says nothing to the backend {model['backend']}, only to inspect: "
                "leave it out."
            )


def _check_date(where: str, template: Mapping[str, Any]) -> None:
    """Raise UserError if the date of chat templates is none."""
    try:
        date.fromisoformat(str(template.get("date", "2026-01-01")))
    except ValueError:
        raise UserError(
            f"{where}.template.date is {template['date']!r}, which is no date: write it as 2026-01-31."
        ) from None


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
    """Raise UserError where the address or the key's variable is none, or `request` says what keys say."""
    check_url(model["base_url"], f"the model {where}")
    check_key_variable(where, model["key_env"])
    check_request(where, model["request"])


def _check_provider(where: str, model: Mapping[str, Any]) -> None:
    """Raise UserError where a name is no provider's model, or its address is no URL."""
    provider, _, name = model["name"].partition("/")
    if not provider or not name:
        raise UserError(
            f"{where}.name is {model['name']!r}: the backend inspect needs a provider and its model, such as "
            "anthropic/claude-sonnet-5."
        )
    if not model["chat"]:
        raise UserError(
            f"{where}.chat says nothing to the backend inspect, which asks chat models: leave it out."
        )
    if "base_url" in model["args"]:
        check_url(str(model["args"]["base_url"]), f"the model {where}")


def _check_translation(config: Config) -> None:
    name = config["translation"]["translator"]
    check_named("translation.translator", [name], config["translators"], "translators")
    translator = config["translators"][name]
    check_key_variable(f"translators.{name}", translator.get("key_env"))
    if translator.get("base_url"):
        check_url(translator["base_url"], f"translators.{name}")


def _check_benchmarks(config: Config) -> None:
    for name, _ in _benchmarks(config):
        check_benchmark(name, config)


def _benchmarks(config: Config) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in config["run"]["benchmarks"]:
        yield name, config["benchmarks"][name]


def _running(config: Config) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in config["run"]["models"]:
        yield name, config["models"][name]
