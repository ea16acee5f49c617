"""The configuration: validated against its schema, with defaults filled in and references checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from needlework import safe_yaml
from needlework.benchmarks.benchmark import check_benchmark, load_benchmark
from needlework.benchmarks.contract import Config
from needlework.data.corpora.registry import (
    CORPORA,
    LANGUAGE,
    OWN_FORMATS,
    OWN_NEEDS,
    OWN_PARAGRAPHS,
    OWN_PASSAGES,
    base_of,
    languages_of,
    local_files,
)
from needlework.data.packaged import is_installed, is_packaged
from needlework.errors import UserError
from needlework.models.engine_arguments import ELSEWHERE
from needlework.models.logs.files import answer_files
from needlework.models.room import check_room
from needlework.models.selection import COLUMNS, READERS, only_of, shared
from needlework.planning.papers import check_key_variable, check_published_values
from needlework.planning.requests import check_request
from needlework.planning.schema import (
    QUOTED,
    ROOT,
    KeyedError,
    check_schema,
    nearest,
    plain,
    schema,
    with_defaults,
)
from needlework.planning.values import check_values, one_line, quoted
from needlework.services.endpoints import check_url

# What a factor's type allows in `only`.
_KINDS = {"string": (str,), "int32": (int,), "double": (int, float), "bool": (bool,)}
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
    check_schema(config)
    for model in config["models"].values():
        if model["backend"] in ("openai", "inspect"):
            # Strict endpoints refuse the field.
            model["sampling"] = {"top_k": None, **model.get("sampling", {})}
    limit = config.get("run", {}).get("limit")
    if isinstance(limit, int):
        config["run"]["limit"] = {}
    config = dict(with_defaults(config, schema()))
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
        own.update(load_benchmark(name).plan.decided(own))
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
        spare = load_benchmark(benchmark).plan.spare(config["benchmarks"][benchmark])
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
            said.append(f"benchmarks.{name}: its other keys set {shown}.")
    return said


def notices(config: Config) -> list[str]:
    """What the benchmarks of a run leave out (`Plan.notices`), in sentences."""
    return [
        note for name, own in _benchmarks(config) for note in load_benchmark(name).plan.notices(own)
    ]


def _shown(value: Any) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)


def left_out(config: Config) -> list[str]:
    """The optional models of a run whose weights are in a package that is not installed.

    Raises UserError where there is no other model.
    """
    found = [
        name
        for name, model in _running(config)
        if model.get("optional") and is_packaged(model["name"]) and not is_installed(model["name"])
    ]
    if found and len(found) == len(config["run"]["models"]):
        raise UserError(
            f"run.models has only {', '.join(found)}, whose weights are not installed: run `make weights`."
        )
    return found


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


def check_named(key: str, names: Iterable[str], registry: Mapping[str, Any], where: str) -> None:
    """Raise UserError where one of `names`, which stand under `key`, is not in the registry `where`."""
    for name in names:
        if name not in registry:
            raise UserError(
                f"{key} names {quoted(name)}, which is not in `{where}`: {nearest(name, registry)}."
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
        read = f" ({QUOTED})" if where.endswith((".True", ".False")) else ""
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
        if model["system"] and not model["chat"]:
            raise UserError(
                f"{where}.system needs a chat template: leave it out, or leave out `chat: false`."
            )
        _check_date(where, model["template"])
        remote = model["backend"] in ("openai", "inspect")
        if model["sampling"]["temperature"] is None and not remote:
            raise UserError(
                f"{where}.sampling.temperature is null, which leaves it to the provider of a model: give the "
                f"backend {model['backend']} a number (0 is greedy decoding)."
            )
        if model["backend"] == "openvino":
            _check_npu(where, model)
        if model["backend"] == "vllm":
            _check_engine(where, model)
        if model["backend"] == "openai":
            _check_endpoint(where, model)
        if model["backend"] == "inspect" and "base_url" in model["args"]:
            check_url(str(model["args"]["base_url"]), f"the model {where}")


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
