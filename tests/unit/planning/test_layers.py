"""Layers of a configuration: defaults, the sample's settings, the user's files, the command line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from factories import demo_run
from kept_configurations import kept, made, with_difference
from needlework.given import given as blocks
from needlework.planning.configuration import plain, with_defaults
from needlework.planning.layers import command_line_values, layered
from needlework.planning.notices import inherited

ROOT = Path(__file__).resolve().parents[3]
DEFAULT = demo_run(run={"benchmarks": ["mlneedle"]})

OTHER_DATA = {
    "mlneedle": {"needles": "mlqa"},
    "lost_in_the_middle": {"needles": "nq_open", "source": "released"},
    "oneruler": {"data": "oneruler"},
    "mlongrr": {"source": "constructed", "data": "mlongrr"},
    "m4le": {"source": "released"},
}


def keys_of_the_page() -> list[tuple[str, str]]:
    """(dotted key, what stands in brackets) of docs/configuration.md, without entries of registries."""
    found, section = [], ""
    for line in (ROOT / "docs/configuration.md").read_text("utf-8").splitlines():
        if heading := re.match(r"###? `([^`]+)`", line):
            section = heading[1]
        row = re.match(r"- \*\*`([^`]+)`\*\* \((.*?)\)(: |$)", line)
        if row and "<" not in section + row[1]:
            found.append((row[1] if row[1] == section else f"{section}.{row[1]}", row[2]))
    return found


def value_at(config: Any, path: str) -> Any:
    for part in path.split("."):
        config = config[part]
    return config


@pytest.mark.parametrize("data", ["sample", "own"])
def test_the_page_names_the_values_that_hold(data: str) -> None:
    given = [] if data == "sample" else [{"benchmarks": OTHER_DATA}]
    demo = demo_run()
    # Of what follows from other keys, the default is null.
    follows = ("benchmarks.mlneedle.question_lang", "benchmarks.mlneedle.answer_languages")
    full, checked = with_defaults(plain(layered(demo, given))), 0
    for path, said in keys_of_the_page():
        chosen = path.split(".")[-1] in OTHER_DATA.get([*path.split("."), ""][1], {})
        sample = re.search(r"on the sample `(.*?)`(;|$)", said)
        default = re.search(r"default `(.*?)`(;|$)", said)
        if path in follows or (chosen and data == "own") or not (sample or default):
            continue
        shown = sample if sample and data == "sample" else default
        if shown:
            assert value_at(full, path) == plain(yaml.safe_load(shown[1])), path
            checked += 1
    assert checked > 110


def test_only_a_run_on_the_sample_keeps_its_settings() -> None:
    for benchmark, chosen in OTHER_DATA.items():
        own = layered(DEFAULT, [{"benchmarks": {benchmark: chosen}}])["benchmarks"]
        assert own == DEFAULT["benchmarks"] | {benchmark: chosen}
    demo = DEFAULT
    same = {"lost_in_the_middle": {"source": "constructed"}, "mlneedle": {"lengths": [512]}}
    own = layered(demo, [{"benchmarks": same}])["benchmarks"]
    assert own["lost_in_the_middle"] == demo["benchmarks"]["lost_in_the_middle"]
    assert own["mlneedle"] == demo["benchmarks"]["mlneedle"] | {"lengths": [512]}
    # A file may name the sample's settings and then other data.
    both = layered(demo, [demo, {"benchmarks": {"mlneedle": {"needles": "xquad"}}}])
    assert both["benchmarks"]["mlneedle"]["tasks"] == ["exact", "existence", "closed_book"]


OTHERS = {
    "models": ("smollm2", {"backend": "openai", "name": "mine", "tokenizer": "words"}),
    "embedders": ("mpnet", {"kind": "sentence-transformers", "name": "acme/embedder"}),
    "tokenizers": ("mistral-v1", {"kind": "huggingface", "name": "acme/model"}),
    "translators": ("nllb", {"kind": "nllb", "name": "acme/translator"}),
}


@pytest.mark.parametrize("registry", OTHERS)
def test_another_entry_takes_nothing_from_the_default(registry: str) -> None:
    name, entry = OTHERS[registry]
    demo = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    # In two files, of which one says only what is other.
    given = [{registry: {name: part}} for part in ({"name": entry["name"]}, entry)]
    own = layered(demo, given)
    assert own.pop(registry) == demo[registry] | {name: entry}
    assert own == {key: value for key, value in demo.items() if key != registry}


def test_the_same_model_keeps_its_entry_and_that_is_told() -> None:
    demo = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    before = demo["models"]["smollm2"]
    whole = {key: before[key] for key in ("backend", "name", "tokenizer", "context")}
    demo["run"] = {"models": ["smollm2"], "benchmarks": ["oneruler"]}
    for change, told in (({"batch_size": 2}, 0), (whole, 1), (whole | {"only": {}}, 0)):
        given = [{"models": {"smollm2": change}}]
        own = layered(demo, given)
        assert own["models"]["smollm2"]["optional"]
        said = inherited(given, blocks(with_defaults(plain(own))))
        assert len(said) == told and all("`only`" in sentence for sentence in said)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        *(("journal=5", "5"), ("mirror=null", None), ("run={limit: 5}", {"limit": 5})),
        ("retrieval={top: 5, similarity: true}", {"top": 5, "similarity": True}),
        ("models={m: {sampling: {temperature: 1e-1}}}", {"m": {"sampling": {"temperature": 0.1}}}),
        ("models={m: {name: 7, engine: {x: 4}}}", {"m": {"name": "7", "engine": {"x": 4}}}),
        ("benchmarks={oneruler: {languages: [no, 5]}}", {"oneruler": {"languages": ["no", "5"]}}),
        ("benchmarks={mlneedle: {questions: all}}", {"mlneedle": {"questions": "all"}}),
        ("benchmarks={mlneedle: {positions: 3}}", {"mlneedle": {"positions": 3}}),
        ("benchmarks={m4le: {release: 2023}}", {"m4le": {"release": "2023"}}),
        ("run={limit", "{limit"),
    ],
)
def test_the_command_line_has_the_types_of_the_schema(argument: str, value: Any) -> None:
    assert command_line_values([argument]) == {argument.partition("=")[0]: value}


KEPT = kept()


def without_later_keys(now: Any, before: Any) -> Any:
    """`now` without the keys that `before` lacks."""
    if isinstance(now, dict) and isinstance(before, dict):
        return {k: without_later_keys(now[k], before[k]) for k in now if k in before}
    return now


@pytest.mark.parametrize("name", [None, *KEPT["cases"]])
def test_a_configuration_has_the_values_that_were_kept(name, root, monkeypatch) -> None:
    monkeypatch.chdir(root)
    case = KEPT["cases"][name] if name else {"given": None, "differs": {}}
    before = with_difference(KEPT["validated"], case["differs"])
    now = made(KEPT["demo"], case["given"])
    assert without_later_keys(now, before) == before
