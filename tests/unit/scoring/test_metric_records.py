"""A metric's record: its function, its verdicts and what they mean, what it needs and what captions say."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from needlework.benchmarks.benchmark import load_benchmark
from needlework.benchmarks.parts import load_part, names
from needlework.scoring.careful.verdicts import _AGAINST
from needlework.scoring.metric import (
    CAREFUL,
    FOUND,
    NOT_RATED,
    SECOND,
    UNDECIDED,
    Meaning,
    Metric,
    by_name,
    choices,
    in_captions,
    meanings,
)

RECORDS = [
    (benchmark, metric)
    for benchmark in names()
    for metric in load_benchmark(benchmark).scoring.metrics.values()
]
each_metric = pytest.mark.parametrize(
    ("benchmark", "metric"), RECORDS, ids=[f"{name}-{metric.name}" for name, metric in RECORDS]
)


def taken(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes of code but those that are only compared with something."""
    yield tree
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.Compare):
            yield from taken(node)


def texts(node: ast.expr, around: Mapping[str, Any]) -> Iterator[str]:
    """The texts that an expression can be, as far as they begin with text of the code."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Name(id=name):
            named = around.get(name)
            yield from (
                [named] if isinstance(named, str) else named if isinstance(named, set) else ()
            )
        case ast.IfExp(body=first, orelse=second):
            yield from texts(first, around)
            yield from texts(second, around)
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
            yield text


def verdicts_in(tree: ast.AST, around: Mapping[str, Any]) -> Iterator[str]:
    """The verdicts of the pairs (value, verdict) in code, by their first parts."""
    for node in taken(tree):
        if not isinstance(node, ast.Tuple) or len(node.elts) != 2:
            continue
        value, verdict = node.elts
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            continue
        nothing = isinstance(value, ast.Constant) and value.value is None
        yield from (
            [UNDECIDED] if nothing else (text.partition(":")[0] for text in texts(verdict, around))
        )


def code_of(function: Any) -> Iterator[tuple[ast.AST, Mapping[str, Any]]]:
    """A function's or class's code with the names around it, then of functions that it takes verdicts from.

    A verdict that is only compared with another is not taken.
    """
    todo, seen = [function], set()
    while todo:
        own = todo.pop()
        if own in seen:
            continue
        seen.add(own)
        tree = ast.parse(textwrap.dedent(inspect.getsource(own)))
        around = vars(inspect.getmodule(own)) | assigned(tree)
        yield tree, around
        for node in taken(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                found = getattr(around.get(node.value.id), node.attr, None)
            else:
                found = around.get(node.id) if isinstance(node, ast.Name) else None
            if inspect.isfunction(found) and gives_verdicts(found):
                todo.append(found)


def assigned(tree: ast.AST) -> dict[str, set[str]]:
    """The texts that code assigns to variables, by name."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            told = set(texts(node.value, {}))
            found.setdefault(node.targets[0].id, set()).update(told)
    return {name: told for name, told in found.items() if told}


def gives_verdicts(function: Any) -> bool:
    said = str(function.__annotations__.get("return", ""))
    return function.__module__.startswith("needlework") and bool(
        re.search(r"Verdict|tuple\[float( \| None)?, str\]", said)
    )


def returned(function: Any) -> set[str]:
    return {verdict for code in code_of(function) for verdict in verdicts_in(*code)}


@each_metric
def test_every_verdict_of_a_metric_has_a_meaning(benchmark: str, metric: Metric) -> None:
    function = getattr(load_part(benchmark, "scores"), metric.function)
    found = returned(function)
    assert found <= set(metric.verdicts), f"{metric.function} gives {found - set(metric.verdicts)}"


def test_the_search_finds_verdicts_of_every_metric() -> None:
    found = {
        (benchmark, metric.name): returned(getattr(load_part(benchmark, "scores"), metric.function))
        for benchmark, metric in RECORDS
    }
    assert {"match", "words", "semantic"} <= found["mlneedle", "released_semantic"]
    assert {"several", "no_city", "no_refusal"} <= found["mlongrr", "strict"]
    assert {"missing", "more", "none", UNDECIDED} <= found["oneruler", CAREFUL]
    assert {"none_word", "partial"} <= found["oneruler", "released"]
    assert found["m4le", CAREFUL] >= {"incomplete", "no number", UNDECIDED}


def test_states_of_a_reference_have_meanings() -> None:
    # `of_words` returns a state as its verdict, so no text of the code is one.
    assert set(SECOND) >= _AGAINST


def test_m4les_shares_have_meanings() -> None:
    # `score` itself gives them, of a value.
    own = load_benchmark("m4le").scoring.metrics
    shares = load_part("m4le", "scores")._verdict
    said = {shares(0.0, ""), shares(0.0, "x"), shares(0.5, "x"), shares(1.0, "x")}
    assert all(said <= set(metric.verdicts) for metric in own.values() if metric.name != CAREFUL)


@pytest.mark.parametrize("benchmark", names())
def test_the_key_takes_the_records(benchmark: str) -> None:
    metrics = load_benchmark(benchmark).scoring.metrics
    (own,) = (
        block
        for block in vars(load_part(benchmark, "settings")).values()
        if inspect.isclass(block) and block.__module__.endswith(f"{benchmark}.settings")
        if "metric" in block.model_fields
    )
    key = own.model_json_schema()["properties"]["metric"]
    assert key["enum"] == list(choices(metrics)) and key["default"] == choices(metrics)[0]


def test_a_verdict_has_one_meaning_in_all_benchmarks() -> None:
    found = meanings(metric for _, metric in RECORDS)
    assert found.keys() >= NOT_RATED.keys()
    assert all(meaning.sentence.endswith(".") and meaning.words for meaning in found.values())
    other = Metric("other", "other", {"match": Meaning("Else.", "else")})
    with pytest.raises(ValueError, match="'match' of other has two meanings"):
        meanings([Metric("first", "first", FOUND), other])


def test_two_metrics_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="one name"):
        by_name(Metric("a", "a", FOUND), Metric("a", "b", FOUND))


@pytest.mark.parametrize(
    ("benchmark", "chosen", "tasks", "said"),
    [
        ("mlneedle", "containment", ["exact"], "containment (the paper's exact accuracy)"),
        (
            *("mlneedle", "released", ["exact", "existence"]),
            "released (the released scorer's), and Yes or No for existence",
        ),
        ("mlneedle", "careful", ["existence"], "careful (the second scorer's verdict)"),
        ("lost_in_the_middle", "best_subspan_em", ["closed_book"], "best_subspan_em"),
        (
            *("lost_in_the_middle", "best_subspan_em", ["key_value"]),
            "best_subspan_em, and key_value_accuracy for pairs",
        ),
        ("m4le", "paper", ["marc"], "paper"),
        ("mlongrr", "released_claude", [], "released_claude (that of Claude's notebook)"),
        ("oneruler", "strict", ["cwe"], "strict"),
    ],
)
def test_captions_name_the_metrics(benchmark: str, chosen: str, tasks: list[str], said: str):
    assert in_captions(load_benchmark(benchmark).scoring.metrics, chosen, tasks) == said
