"""The schema of the configuration (workflow/schemas/config.schema.yaml): its defaults and its errors."""

from __future__ import annotations

import copy
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from needlework import safe_yaml
from needlework.benchmarks.parts import names as benchmark_names
from needlework.data.corpora.registry import OWN_SERVES, serving
from needlework.errors import UserError
from needlework.planning.config_files import LONGEST, bad_path, quoted

ROOT = Path(__file__).resolve().parents[4]
SCHEMA = ROOT / "workflow/schemas/config.schema.yaml"

# Of a value that is true or false and should be text, such as Norwegian's code.
QUOTED = "YAML reads no, off, yes and on as false and true: put such a text in quotes"
# The most characters of a text, unless the schema says otherwise: of a name or a code; of a path; of a text
# with lines (keyword `lines`), such as a system prompt.
_CHARACTERS, _OF_A_PATH, _OF_LINES = 200, 4095, 50_000
# No line breaks and tabs; other control characters are in no value (`check_values`).
_ONE_LINE = r"^[^\t\n\r]*$"
_SEE = "see docs/configuration.md"
# What other programs call a model's keys, and programs whose servers a backend asks.
_OTHER_NAMES = {
    **{"api_key": "key_env", "api_base": "base_url", "url": "base_url", "model": "name"},
    **dict.fromkeys(("max_model_len", "context_length", "n_ctx"), "context"),
    **dict.fromkeys(("temperature", "top_p"), "sampling"),
    **dict.fromkeys(("ollama", "llama.cpp", "llamacpp", "lmstudio", "sglang", "tgi"), "openai"),
    **dict.fromkeys(("anthropic", "google", "gemini"), "inspect"),
    **dict.fromkeys(("hf", "huggingface"), "transformers"),
}


class KeyedError(UserError):
    """An error of one key: `path` leads to it, or to the nearest block that exists."""

    def __init__(self, message: str, path: Iterable[str | int]) -> None:
        super().__init__(message)
        self.path = [str(part) for part in path]


@lru_cache(None)
def schema() -> dict[str, Any]:
    """The schema of the configuration (JSON Schema 2020-12), without the user's corpora."""
    found = safe_yaml.read(SCHEMA)
    _choices(found, {})
    _limit(found)
    models = found["properties"]["models"]
    models["additionalProperties"] = _with_keys_of_all(models["additionalProperties"])
    return found


def _with_keys_of_all(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a model: each backend's alternative with the common keys and those of other backends.

    A key of other backends may have its default alone (keyword `elsewhere`, with their names): so all models
    have all keys.
    """
    owners: dict[str, list[str]] = {}
    nodes: dict[str, Any] = {}
    for choice in entry["oneOf"]:
        for key, node in choice["properties"].items():
            owners.setdefault(key, []).extend(_values(choice["properties"]["backend"]))
            nodes.setdefault(key, node)
    elsewhere = {
        key: {
            "elsewhere": backends,
            "default": with_defaults(plain(nodes[key].get("default")), nodes[key]),
            **({"affects": nodes[key]["affects"]} if "affects" in nodes[key] else {}),
        }
        for key, backends in owners.items()
    }
    common = {**entry, "type": "object", "additionalProperties": False}
    keys, alternatives = common.pop("properties"), common.pop("oneOf")
    choices = [
        {
            **common,
            "required": [*common["required"], *choice.get("required", [])],
            "properties": elsewhere | keys | choice["properties"],
        }
        for choice in alternatives
    ]
    return {"affects": entry["affects"], "oneOf": choices}


def _values(node: Mapping[str, Any]) -> list[Any]:
    """The values among which a node lets choose."""
    return [node["const"]] if "const" in node else list(node.get("enum", ()))


def tag(node: Mapping[str, Any]) -> str:
    """The key by whose value an entry is one of a node's alternatives (`oneOf`); "" if it has none."""
    choices = node.get("oneOf", ())
    for key in ("kind", "backend"):
        if choices and all(key in choice.get("properties", {}) for choice in choices):
            return key
    return ""


def alternative(node: Mapping[str, Any], entry: Any) -> Mapping[str, Any] | None:
    """The alternative of a node that an entry is by its `kind` or `backend`; None if there is none."""
    if not (key := tag(node)) or not isinstance(entry, Mapping):
        return None
    for choice in node["oneOf"]:
        if entry.get(key) in _values(choice["properties"][key]):
            return choice
    return None


def _tags(node: Mapping[str, Any]) -> list[str]:
    key = tag(node)
    return [value for choice in node["oneOf"] for value in _values(choice["properties"][key])]


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


def plain(value: Any) -> Any:
    """A copy in plain dicts and lists, which Snakemake's own containers are not, and with 1 for 1.0.

    Numbers get into digests as text, and the schema takes either for the other.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def with_defaults(value: Any, node: Mapping[str, Any]) -> Any:
    """A value with its defaults filled in, and `~/` in paths as the user's folder."""
    node = alternative(node, value) or node
    if node.get("path") and isinstance(value, str):
        return str(Path(value).expanduser()) if value.startswith("~/") else value
    if isinstance(value, list) and node.get("items", {}).get("path"):
        return [with_defaults(item, node["items"]) for item in value]
    if not isinstance(value, Mapping):
        return value
    filled = dict(value)
    for key, child in node.get("properties", {}).items():
        if key not in filled and "default" in child:
            filled[key] = plain(child["default"])
    for key, item in filled.items():
        child = node.get("properties", {}).get(key, node.get("additionalProperties"))
        if isinstance(child, Mapping):
            filled[key] = with_defaults(item, child)
    return filled


def layered(demo: Mapping[str, Any], given: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The demo's configuration with the user's over it, in order.

    The demo's settings of a benchmark are those of the embedded sample. If the user names other data for the
    benchmark (keys with the keyword `chooses_data`), none of them holds. Nor do those of an entry, such as a
    model, if the user's entry of the same name is another one (keys `backend`, `kind` and `name`).
    """
    found = copy.deepcopy(dict(demo))
    files = [each for each in given if isinstance(each, Mapping)]
    for name, block in schema()["properties"]["benchmarks"]["properties"].items():
        sample = found["benchmarks"].get(name, {})
        usual = {
            key: sample.get(key, node["default"])
            for key, node in block["properties"].items()
            if node.get("chooses_data")
        }
        if _differs(files, "benchmarks", name, usual):
            found["benchmarks"].pop(name, None)
    for registry in ("models", "tokenizers", "embedders", "translators"):
        for name, entry in list(found.get(registry, {}).items()):
            if _differs(
                files, registry, name, {k: entry.get(k) for k in ("backend", "kind", "name")}
            ):
                del found[registry][name]
                if registry == "models":
                    found.get("records", {}).get("names", {}).pop(name, None)
    for each in files:
        _merge(found, each)
    return found


def _differs(
    files: Iterable[Mapping[str, Any]], section: str, name: str, usual: Mapping[str, Any]
) -> bool:
    """Whether one of the user's files has other values of the `usual` keys in the block of this name."""
    return any(
        own.get(key, value) != value
        for each in files
        for own in [block(each, section, name)]
        for key, value in usual.items()
    )


def block(given: Mapping[str, Any], section: str, name: str) -> Mapping[str, Any]:
    """The block of a name in a section of a file, such as `models`; empty without one."""
    blocks = given.get(section)
    own = blocks.get(name) if isinstance(blocks, Mapping) else None
    return own if isinstance(own, Mapping) else {}


def _merge(into: dict[str, Any], other: Mapping[str, Any]) -> None:
    """Lay `other` over `into` as Snakemake does: mappings key by key, all else replaced."""
    for key, value in other.items():
        if isinstance(value, Mapping) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = copy.deepcopy(value)


# Errors


def check_schema(config: Any) -> None:
    """Raise KeyedError for the first value, by its place, that the schema does not take."""
    errors = sorted(
        _validator()(_schema_with(config)).iter_errors(config),
        key=lambda e: list(map(str, e.absolute_path)),
    )
    if errors:
        error = _deepest(errors[0])
        path = list(error.absolute_path)
        if error.validator == "additionalProperties":
            path.append(_unknown(error))
        elif error.validator == "oneOf" and isinstance(error.instance, dict):
            path += [key for key in [tag(error.schema)] if key in error.instance]
        raise KeyedError(_sentence(error, config), path)


@lru_cache(None)
def _validator() -> Any:
    """The class that validates, with keywords of our own, and an entry of a registry by its kind alone."""
    import jsonschema

    usual = jsonschema.Draft202012Validator
    Invalid = jsonschema.ValidationError

    def path(validator: Any, wanted: bool, value: Any, node: Any) -> Iterator[Any]:
        if wanted and isinstance(value, str) and (trouble := bad_path(value)):
            yield Invalid(trouble)

    def elsewhere(validator: Any, backends: list[str], value: Any, node: Any) -> Iterator[Any]:
        if value not in (node.get("default"), {}):
            yield Invalid(" and ".join(backends))

    def one_of(validator: Any, choices: Any, value: Any, node: Any) -> Iterator[Any]:
        if not tag(node):
            yield from usual.VALIDATORS["oneOf"](validator, choices, value, node)
        elif chosen := alternative(node, value):
            yield from validator.descend(value, chosen)
        else:
            yield Invalid("is of no known kind")

    own = {"path": path, "elsewhere": elsewhere, "oneOf": one_of}
    return jsonschema.validators.extend(usual, own)


def _deepest(error: Any) -> Any:
    """Inside a choice of types, the error of the type that was meant."""
    if error.validator != "oneOf" or tag(error.schema):
        return error
    meant = [child for child in error.context if child.validator not in ("type", "const")]
    return _deepest(meant[0]) if meant else error


def _unknown(error: Any) -> str:
    known = error.schema.get("properties", {})
    return next(key for key in error.instance if key not in known)


def _described(node: Mapping[str, Any]) -> str:
    """The beginning of a key's description, or its type."""
    what = " ".join(node.get("description", "").split())
    return re.split(r"[.:,;] ", what)[0].rstrip(".") or f"a value of type {node.get('type')}"


def _sentence(error: Any, config: Any) -> str:
    """What is wrong, where, and what to do, in one sentence."""
    where = ".".join(map(str, error.absolute_path)) or "the configuration"
    shown = quoted(error.instance)
    # The library begins its messages with the whole value.
    said = error.message.replace(repr(error.instance), shown)
    match error.validator:
        case "additionalProperties":
            return f"unknown key {quoted(_unknown(error))} in {where}: {_nearest_key(error)}."
        case "required":
            missing = next(key for key in error.validator_value if key not in error.instance)
            first = _described(error.schema.get("properties", {}).get(missing, {}))
            return f"{where} lacks the key {missing!r} ({first}): {_SEE}."
        case "enum":
            return f"{where} is {shown}: {nearest(error.instance, error.validator_value)}."
        case "oneOf" if tag(error.schema):
            key = tag(error.schema)
            if not isinstance(error.instance, dict):
                return f"{where} is {shown}, but must have the key {key!r}: {_SEE}."
            if key not in error.instance:
                return f"{where} lacks the key {key!r}: {nearest('', _tags(error.schema))}."
            given = error.instance[key]
            named = _OTHER_NAMES.get(given, given) if isinstance(given, str) else given
            return f"{where}.{key} is {quoted(given)}: {nearest(named, _tags(error.schema))}."
        case "oneOf":
            wanted = " or ".join(
                repr(choice["const"]) if "const" in choice else f"of type {choice['type']!r}"
                for choice in error.schema["oneOf"]
            )
            return f"{where} is {shown}, but must be {wanted}: {_SEE}."
        case "const":
            why = error.schema.get("description", "").strip().rstrip(".")
            return f"{where} is {shown}, but can only be {error.validator_value!r} ({why}): leave it out."
        case "elsewhere":
            backend = config["models"][error.absolute_path[1]]["backend"]
            return f"{where} is no key of the backend {backend}, only of {error.message}: leave it out."
        case "type" if error.instance is None and error.validator_value == "string":
            return f"{where} is missing: {_described(error.schema)} is needed here, {_SEE}."
        case "type" if error.validator_value == "array" and type(error.instance) in (str, int):
            return f"{where} is {shown}, but must be a list: write [{error.instance}], {_SEE}."
        case "minItems" | "maxItems":
            bound = "at least" if error.validator == "minItems" else "at most"
            most, count = error.validator_value, len(error.instance)
            return f"{where} is {shown}, of {count}, but must have {bound} {most}: {_SEE}."
        case "type" if isinstance(error.instance, bool):
            return f"{where} is {shown}, but {said} ({QUOTED}): {_SEE}."
        case "type" if isinstance(error.instance, str):
            return f"{where} is {shown}, but {said}{_as_number(error)}: {_SEE}."
        case "pattern" if error.validator_value == _ONE_LINE:
            return f"{where} is {shown}, which holds a tab or a line break: take it out."
        case "pattern" if "description" in error.schema:
            first = error.schema["description"].strip().rstrip(".")
            return f"{where} is {shown}, which is not what it must be ({first}): correct it."
        case "maxLength":
            most, long = error.validator_value, len(error.instance)
            return (
                f"{where} is {shown}, of {long:,} characters, but the most is {most:,}: shorten it."
            )
        case "path":
            return f"{where} is {shown}, but {said}: correct the path."
    return f"{where} is {shown}, but {said}: {_SEE}."


def _nearest_key(error: Any) -> str:
    """The nearest of the keys that an entry takes, and all of these."""
    given, keys = _unknown(error), _own_keys(error.schema)
    named = _OTHER_NAMES.get(given)
    return nearest(named if named in keys else given, keys)


def _as_number(error: Any) -> str:
    """How a text is written as the number that is wanted; "" where it is no number."""
    wanted = error.validator_value
    if not {"number", "integer"} & {*([wanted] if isinstance(wanted, str) else wanted)}:
        return ""
    text = error.instance.strip()
    try:
        number = float(text) if len(text) <= LONGEST else None
    except ValueError:
        return ""
    if number is None:
        return ""
    mantissa, e, exponent = text.lower().partition("e")
    if not e:
        return f" (write {text} without quotes)"
    # YAML 1.1 wants a point, and the exponent's sign.
    mantissa += "" if "." in mantissa else ".0"
    exponent = exponent if exponent[0] in "+-" else f"+{exponent}"
    return (
        " (YAML reads a number with an exponent only with a point and a sign: write "
        f"{mantissa}e{exponent})"
    )


def nearest(word: object, known: Iterable[object]) -> str:
    """A hint for an error: the nearest known word, and the list of known words."""
    names = sorted(map(str, known))
    # A long word is like no name, and comparing it would take minutes.
    text = str(word) if not isinstance(word, str | list | Mapping) or len(word) <= LONGEST else ""
    folded = {name.lower(): name for name in names}
    near = difflib.get_close_matches(text.lower(), folded, n=1, cutoff=0.5)
    hint = f"did you mean {folded[near[0]]!r}? " if near else ""
    shown = names[:30] + ["..."] * (len(names) > 30)
    return f"{hint}Known: {', '.join(shown) or '(nothing)'}"


# Values of the command line


def command_line_values(arguments: Iterable[str]) -> dict[str, Any]:
    """What `--config` sets (words such as `run={limit: 2}`), with values of the types that the schema has.

    Snakemake itself reads all but single numbers as texts.
    """
    import yaml

    found: dict[str, Any] = {}
    for argument in arguments:
        key, _, text = argument.partition("=")
        try:
            value = yaml.load(text, yaml.BaseLoader) if text else None  # noqa: S506
        except yaml.YAMLError:
            value = text
        found[key] = read_as(value, schema()["properties"].get(key, {}))
    return found


def read_as(value: Any, node: Mapping[str, Any]) -> Any:
    """A value that is made of texts, with numbers and so on where a node of the schema takes these."""
    if isinstance(value, Mapping):
        keys: dict[str, Any] = {}
        chosen = alternative(node, value)
        for choice in [chosen] if chosen else _with_alternatives(node):
            keys = {**keys, **_own_keys(choice)}
        others = node.get("additionalProperties")
        others = others if isinstance(others, Mapping) else {}
        return {key: read_as(item, keys.get(key, others)) for key, item in value.items()}
    if isinstance(value, list):
        items: Mapping[str, Any] = next(
            (n["items"] for n in _with_alternatives(node) if "items" in n), {}
        )
        return [read_as(item, items) for item in value]
    return value if value is None else _scalar(value, _with_alternatives(node))


def _with_alternatives(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [node, *node.get("oneOf", ())]


def _own_keys(node: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of an entry, without those of other backends."""
    return {k: n for k, n in node.get("properties", {}).items() if "elsewhere" not in n}


def _scalar(text: str, nodes: Iterable[Mapping[str, Any]]) -> Any:
    """A text as YAML reads it, if one of the nodes takes a value of that type, else as it is."""
    import yaml

    try:
        value = yaml.safe_load(text) if text else text
    except (yaml.YAMLError, ValueError):
        return text
    if isinstance(value, str):
        try:
            # YAML reads an exponent only with a point and a sign.
            number = float(text)
        except ValueError:
            return text
    else:
        number = value
    kinds = {
        "string": str,
        "boolean": bool,
        "null": type(None),
        "integer": int,
        "number": int | float,
    }
    for node in nodes:
        types = node.get("type", ())
        types = {types} if isinstance(types, str) else {*types}
        if value in _values(node) or not (types or "oneOf" in node or _values(node)):
            return value
        for kind in types - {"string", "array", "object"}:
            if isinstance(number, kinds[kind]) and isinstance(number, bool) == (kind == "boolean"):
                return number
    return text


def check_named(key: str, names: Iterable[str], registry: Mapping[str, Any], where: str) -> None:
    """Raise UserError where one of `names`, which stand under `key`, is not in the registry `where`."""
    for name in names:
        if name not in registry:
            raise KeyedError(
                f"{key} names {quoted(name)}, which is not in `{where}`: {nearest(name, registry)}.",
                [key],
            )
