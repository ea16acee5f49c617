"""Configurations with one mistake each, drawn by seed: types, ranges, texts, names, keys; as YAML too."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

# Values that are wrong for most keys, or hard to show, compare, write or use as a part of a path.
STRANGE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 3.5, 1e-300, 1e300, 10**12, 10**18, 10**30, -(10**30)),
    *(2**63, 2**64, float("nan"), float("inf"), float("-inf"), 10**4299, 16**5000),
    *(
        *("", " ", "hot", "0.7", "1e-5", "1E5", ".5", "null", "~", "~/x", "~nobody/x", "no"),
        *("en", "EN"),
    ),
    *("x" * 300, "é" * 200, "x/" * 3000, "a" * 5000, "y" * 150_000, "*" * 200, "data/*" * 40),
    *("a\0b", "\x1b[31m", "\x7f", "\x85", "\u202e\u2066", "\ufeff", "\ud800", "a\nb", "\t", "\r\n"),
    *(
        *("{lang}", "{", "}", "{0}", "%s", "../..", "/", ".", "..", "//", "\\", "'", '"', "`x`"),
        "$(x)",
    ),
    *("[1", "(a", "?P<", "package:", "package:x", "package:/x", "http://[", "https://h:99999/v1"),
    *("ftp://h", "sk-" + "a1" * 20, "Bearer abcdefgh12345", "https://u:secret99@h/v1", "PATH"),
    *("LD_LIBRARY_PATH",),
    *("👩‍👩‍👧‍👦" * 30, "İ", "ß", "ᄀ", "e\u0301", "ａ", "نعم", "2024-01-01"),
    *([], [[]], [None], [1, 1], ["a", "a"], [[1, 2], [3]], [{}], [float("nan")], list(range(5000))),
    *({}, {"": 1}, {"a": {"b": {"c": []}}}, {"kind": []}, {"kind": {}}, {"kind": "words", "x": 1}),
    *({"x" * 400: 1}, {"a\0": 1}, {"é": "é"}, {"kind": None}, {"preset": []}, {"mlneedle": {}}),
)
# Fields of an endpoint's request, and of parts that are passed on.
FIELDS = (
    *("messages", "model", "n", "stream", "prompt", "max_tokens", "stop", "temperature", "api_key"),
    *("apiKey", "Authorization", "x-api-key", "extra_headers", "tools", "logit_bias"),
    *("hf_token", "dtype"),
)


def mutations(start: Mapping[str, Any], seed: int, number: int) -> Iterator[tuple[str, Any]]:
    """`number` configurations, each `start` with one to three changes, and what was changed in words."""
    for place in range(number):
        draw = random.Random(f"{seed}/{place}")
        config = copy.deepcopy(dict(start))
        said = [_change(config, draw) for _ in range(draw.choice((1, 1, 1, 2, 3)))]
        yield "; ".join(said), config


def _change(config: dict[str, Any], draw: random.Random) -> str:
    path, block, key = draw.choice(list(_places(config, "")))
    kind = draw.choice(("value", "value", "value", "value", "key", "name", "drop", "wrap", "field"))
    if kind == "field":
        models = config.get("models")
        block, key = models.get("served") if isinstance(models, dict) else None, "request"
        if not isinstance(block, dict):
            return "nothing"
        block |= {"backend": "openai", "name": "m", "base_url": "http://127.0.0.1:9/v1"}
        block[key] = {draw.choice(FIELDS): draw.choice(STRANGE)}
        return f"request: {list(block[key])}"
    if kind == "drop":
        del block[key]
    elif kind == "wrap":
        block[key] = draw.choice(([block[key]], {"a": block[key]}, str(block[key])))
    elif kind == "value" or isinstance(block, list):
        block[key] = copy.deepcopy(draw.choice(STRANGE))
    elif kind == "name":
        # Another entry, with a strange name or one that differs in case alone.
        block[draw.choice((str(key).upper(), f"{key} ", *map(str, _names())))] = copy.deepcopy(
            block[key]
        )
    else:
        block[draw.choice(_names())] = copy.deepcopy(draw.choice(STRANGE))
    return f"{kind} at {path}"


def _names() -> list[Any]:
    return [value for value in STRANGE if isinstance(value, str) or value in (0, None, True)]


def _places(node: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Every place of a configuration: its path in words, what holds it, and the key or number there."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in list(items):
        where = f"{path}.{str(key)[:30]}"
        yield where, node, key
        if isinstance(value, dict | list) and len(value) < 100:
            yield from _places(value, where)


def _writable(value: Any) -> Any:
    """A value without integers that Python refuses to write: the text has them from elsewhere."""
    if isinstance(value, dict):
        return {key: _writable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_writable(item) for item in value]
    return 10**30 if isinstance(value, int) and value.bit_length() > 10_000 else value


def as_yaml(config: Any, draw: random.Random) -> str:
    """The configuration as the text of a file, which may have mistakes of its own: twice a key, odd tags."""
    text = json.dumps(
        _writable(config), ensure_ascii=draw.random() < 0.5, indent=draw.choice((None, 1))
    )
    text = text.replace("NaN", ".nan").replace("Infinity", ".inf")
    lines = text.split(", ")
    place = draw.randrange(len(lines))
    change = draw.choice(("none", "twice", "tag", "cut", "digits", "anchor", "nested", "date"))
    if change == "twice":
        lines.insert(place, lines[place])
    elif change == "cut":
        return text[: draw.randrange(len(text))]
    elif change != "none" and ": " in lines[place]:
        value = {
            "tag": draw.choice(
                ("!!int abc", "!!float x", "!!bool maybe", "!!binary =", "!!python/name:os.x")
            ),
            "digits": "9" * draw.choice((19, 300, 4300, 5000)),
            "anchor": "&a [*a]",
            "nested": "[" * 150 + "]" * 150,
            "date": draw.choice(("2024-13-45", "2024-01-01", "0b", "1:60", "0x")),
        }[change]
        lines[place] = f"{lines[place].partition(': ')[0]}: {value}"
    return ", ".join(lines)
