"""What the documentation says is there, is: keys, files, links, targets, commands, tests, examples."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from needlework.benchmarks.benchmark import load_benchmark
from needlework.benchmarks.parts import names
from needlework.data.corpora.registry import CORPORA, languages_of
from needlework.planning.config import validated
from needlework.planning.json_schema import schema
from needlework.planning.layers import layered
from needlework.results.columns import COMPARISON, MEASURES

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = ROOT / "docs/configuration.md"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(ROOT / name for name in ("config/README.md", "perf/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text("utf-8") for page in PAGES}

# What a reader can look up: paths that begin so must exist.
TRACKED = "presets|docs|config|workflow|resources|requirements|envs|profiles|tests|perf"


def blocks(text: str, language: str = "") -> list[str]:
    """The fenced code of a page in one language, without files, which have a title."""
    fenced = re.findall(r"^```(\w*)( title=[^\n]*)?\n(.*?)^```", text, flags=re.M | re.S)
    return [code for name, title, code in fenced if name == language and not title]


def commands() -> list[str]:
    """Every command line that a page shows."""
    return [
        line for text in TEXTS.values() for block in blocks(text) for line in block.splitlines()
    ]


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    """docs/generate_configuration.py."""
    return script("generate_configuration")


def script(name: str) -> ModuleType:
    """A script that writes a page of docs/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"docs/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_written_pages_are_what_their_scripts_write(generator) -> None:
    targets = script("generate_targets").page([load_benchmark(name) for name in names()])
    rules, drawn = script("generate_rules"), (ROOT / "docs/rules.svg").read_text("utf-8")
    for name, same in {
        "configuration": all(p.read_text("utf-8") == t for p, t in generator.files().items()),
        "targets": TEXTS["docs/targets.md"] == targets,
        "verdicts": script("generate_verdicts").section() in TEXTS["docs/fidelity.md"],
        "rules": (TEXTS["docs/rules.md"], drawn) == (rules.page(), rules.picture(rules.graph())),
    }.items():
        assert same, f"run python docs/generate_{name}.py"


def test_a_stale_configuration_page_is_noticed(generator, tmp_path, monkeypatch, capsys) -> None:
    page, schema = tmp_path / "configuration.md", tmp_path / "config.schema.json"
    schema.write_text(generator.SCHEMA.read_text("utf-8"), "utf-8")
    monkeypatch.setattr(generator, "PAGE", page)
    monkeypatch.setattr(generator, "SCHEMA", schema)
    monkeypatch.setattr("sys.argv", ["generate_configuration.py", "--check"])
    with pytest.raises(SystemExit, match="out of date"):
        generator.main()
    page.write_text(CONFIGURATION.read_text("utf-8"), "utf-8")
    generator.main()
    for file, before, after in (
        (page, "`run`", "`runs`"),
        (schema, '"minimum": 1', '"minimum": 2'),
    ):
        text = file.read_text("utf-8")
        file.write_text(text.replace(before, after, 1), "utf-8")
        with pytest.raises(SystemExit, match=f"{file.name} is out of date"):
            generator.main()
        file.write_text(text, "utf-8")


def keys_of(node: Mapping, path: str) -> Iterator[tuple[str, str]]:
    """(the heading that a key must stand below, the key as it must stand there)."""
    entry = node.get("additionalProperties")
    if isinstance(entry, Mapping) and {"properties", "oneOf"} & entry.keys():
        for kind in entry.get("oneOf", [entry]):
            yield from ((f"{path}.<name>", key) for key in leaves(kind))
        return
    children = node.get("properties", {})
    if children and all("properties" in child for child in children.values()):
        for name, child in children.items():
            yield from ((f"{path}.{name}", key) for key in leaves(child))
    else:
        yield from ((path, key) for key in (leaves(node) if children else [path]))


def leaves(node: Mapping) -> Iterator[str]:
    for key, child in node["properties"].items():
        if "properties" in child:
            yield from [key] if "description" in child else []
            yield from (f"{key}.{leaf}" for leaf in leaves(child))
        else:
            yield key
            entry = child.get("additionalProperties")
            if isinstance(entry, Mapping) and "properties" in entry:
                yield from (f"{key}.<name>.{leaf}" for leaf in leaves(entry))


def test_every_schema_key_has_a_documented_meaning() -> None:
    rows: dict[tuple[str, str], str | None] = {}
    heading = ""
    for line in CONFIGURATION.read_text("utf-8").splitlines():
        if found := re.match(r"#+ `([^`]+)`", line):
            heading = found[1]
        elif found := re.match(r"- \*\*`([^`]+)`\*\* \(.*?\)(?:: (.*))?$", line):
            rows[heading, found[1]] = found[2]
    expected = {key for name, node in schema()["properties"].items() for key in keys_of(node, name)}
    assert len(expected) > 60
    assert expected == set(rows)
    # What chooses a kind is explained below the kind's heading.
    unexplained = [key for key in expected if not rows[key] and key[1] not in ("kind", "backend")]
    assert not unexplained


@pytest.mark.parametrize("page", TEXTS)
def test_links_and_named_files_are_there_and_tables_fit(page) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", TEXTS[page]):
        if re.match(r"https?://", target):
            continue
        path, _, anchor = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        assert file.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text("utf-8"), flags=re.M)
            anchors = [re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings]
            assert anchor in anchors, target
    created = re.findall(r'^```\w+ title="([^",]+)', TEXTS[page], re.M)
    for path in re.findall(rf"(?<![\w./<])(?:{TRACKED})/[\w./*<>{{}}-]+", TEXTS[page]):
        pattern = re.sub(r"<\w+>|\*+", "*", path.rstrip("."))
        assert path in created or any(ROOT.glob(pattern.rstrip("/"))), path
    for row in tables(TEXTS[page]):
        assert max(map(len, row)) <= 120 and sum(map(len, row)) <= 200, row


def visible(cell: str) -> str:
    """The text that a reader sees of Markdown in a cell."""
    return re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", cell).replace("`", "").strip()


def tables(text: str) -> Iterator[list[str]]:
    """The rows of a page's tables, each as the texts of its cells."""
    for line in re.sub(r"^```.*?^```", "", text, flags=re.M | re.S).splitlines():
        if line.startswith("|"):
            yield [visible(cell) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_each_difference_says_its_default_and_names_a_key() -> None:
    text = TEXTS["docs/fidelity.md"].partition("\n## MLNeedle\n")[2]
    sections = [part for part in re.split(r"^#+ ", text, flags=re.M) if ".** Default:" in part]
    assert len(sections) > 15
    entries = [entry for part in sections for entry in re.split(r"^- ", part, flags=re.M)[1:]]
    assert len(entries) > 140
    known = {
        part
        for name, node in schema()["properties"].items()
        for _, key in keys_of(node, name)
        for part in key.split(".")
    }
    for entry in entries:
        found = re.match(r"\*\*.+?\.\*\* Default: [^;]+(?:; switch: (.+?)\.(?: |$))?", entry, re.S)
        assert found, entry
        for key in re.findall(r"`([^`]+)`", found[1] or ""):
            last = re.split(r"[.\s]", key.split(":")[0].strip())[-1]
            assert last in known or last in TEXTS["docs/configuration.md"], key


def test_targets_results_and_tests_that_are_named_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), flags=re.M))
    text = "\n".join(TEXTS.values())
    named = set(re.findall(r"\bmake ([a-z-]+)`", text))
    named |= {name for line in commands() for name in re.findall(r"\bmake ([a-z-]+)", line)}
    assert {"demo", "test"} <= named <= targets
    there = {f"{name}_{r.name}" for name in names() for r in load_benchmark(name).results}
    pattern = r"\b(?:mlneedle|lost_in_the_middle|oneruler|mlongrr)_(?:table|figure)\w+\b"
    assert set(re.findall(pattern, text)) <= there
    code = "".join(file.read_text("utf-8") for file in (ROOT / "tests").rglob("test_*.py"))
    tests = set(re.findall(r"`(test_\w+)`", text))
    assert len(tests) > 40
    assert tests - set(re.findall(r"^def (test_\w+)\(", code, flags=re.M)) == set()


PARSE = """
import json, sys
from snakemake.cli import get_argument_parser
for line in json.load(sys.stdin):
    found = get_argument_parser().parse_args(line)
    print(json.dumps([[str(f) for f in found.configfile or []], list(found.targets)]))
"""


TARGET = (
    r"(mlneedle|lost_in_the_middle|oneruler|mlongrr|m4le)_|results/|"
    r"(estimate|export|provenance|reproduction|report_cards|explorer|compare|artifact|"
    r"verify|own_data|doctor|checkups)$"
)


def test_snakemake_takes_the_commands() -> None:
    shown = [line for line in commands() if line.startswith(".venv/bin/snakemake")]
    assert len(shown) > 3
    parsed = subprocess.run(
        [sys.executable, "-c", PARSE],
        input=json.dumps([shlex.split(line)[1:] for line in shown]),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    # A page may name a configuration that it shows.
    examples = {name for text in TEXTS.values() for name in re.findall(r"`([\w/]+\.yaml)`", text)}
    examples |= {f for text in TEXTS.values() for f in re.findall(r'title="([\w/]+\.yaml)"', text)}
    for line, (files, targets) in zip(shown, map(json.loads, parsed), strict=True):
        # --configfile takes all that follows it: a target there would be a file that is missing.
        assert all(name in examples or (ROOT / name).is_file() for name in files), line
        assert all(re.match(TARGET, target) for target in targets), line


EXAMPLES = [(page, block) for page, text in TEXTS.items() for block in blocks(text, "yaml")]


@pytest.mark.parametrize(
    "page, block", EXAMPLES, ids=[f"{p}-{i}" for i, (p, _) in enumerate(EXAMPLES)]
)
def test_configurations_that_are_shown_are_valid(page, block) -> None:
    demo = yaml.safe_load((ROOT / "config.yaml").read_text("utf-8"))
    validated(layered(demo, [yaml.safe_load(block)]))


def test_names_of_the_page_on_benchmarks_exist() -> None:
    text = TEXTS["docs/adding-a-benchmark.md"]
    assert "`Benchmark`" in text and "`Built`" in text
    names = re.findall(r"`needlework\.(\w+)\.(\w+)`", text)
    assert len(names) > 2
    for room, name in names:
        try:
            importlib.import_module(f"needlework.{room}.{name}")
        except ModuleNotFoundError:
            assert hasattr(importlib.import_module(f"needlework.{room}"), name), name


def test_the_columns_that_are_explained_are_those_of_the_tables() -> None:
    section = TEXTS["docs/quickstart.md"].partition("## Reading a table")[2]
    explained = {
        name
        for row in re.findall(r"^\| (`[^|]+) \|", section, flags=re.M)
        for name in re.findall(r"`(\w+)`", row)
    }
    assert explained == {*MEASURES, *COMPARISON}


def test_the_page_on_languages_has_every_corpus_with_its_languages() -> None:
    page = (ROOT / "docs/adding-a-language.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `")]
    listed = {
        corpus.strip("`"): languages.split(", ")
        for corpora, languages in (row for row in rows if len(row) == 2)
        for corpus in corpora.split(", ")
        if corpus.strip("`") in CORPORA
    }
    assert listed == {
        name: sorted(languages_of(name)) for name, own in CORPORA.items() if not own.benchmark
    }
