"""Report cards: curves of prompts that differ in nothing else, and a sentence that claims what is shown."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text

from needlework.factor import Factor
from needlework.results import published
from needlework.results.cards.card import Card, Part
from needlework.results.cards.drawn import FORMS, HEADS, draw, lengths_in_words, percent
from needlework.results.cards.numbers import (
    COMPARED,
    FACTS,
    LEAST_QUESTIONS,
    crossed,
    curves,
    difference,
    facts,
    missed,
    read,
    reportable,
    sentence,
    sides,
    tables,
)
from needlework.results.drawing.style import COLUMN, TALLEST, style
from needlework.results.result import Context

RUN = Context(published.none(), {})
LENGTH = Factor("length", "int32", label="tokens")
PART = Part(
    lambda rows, run: rows,
    held=("lang", "length", "depth"),
    length=LENGTH,
    depth=Factor("depth", "double"),
    language=Factor("lang"),
)
CARD = Card((PART,), asked_in=lambda rows, run: rows["lang"])
TITLES = {"b": "Bench"}


def scores(model: str, right, langs=("en",), lengths=(1000,), depths=(0.0,), n: int = 20):
    """A row for each combination and question; `right` gives the value."""
    return pd.DataFrame(
        {
            **{"instance_id": f"{lang}{length}{depth}{i}", "example_id": f"q{i}", "sample": 0},
            **{"model": model, "metric": "m", "value": float(right(lang, length, depth, i))},
            **{"finish_reason": "stop", "verdict": "right"},
            **{"lang": lang, "length": length, "depth": depth},
        }
        for lang in langs
        for length in lengths
        for depth in depths
        for i in range(n)
    )


def made(rows: pd.DataFrame, *models: str):
    found = list(curves("b", CARD, rows, RUN, models))
    points, compared = tables(found)
    answers = pd.DataFrame(facts("b", CARD, rows, RUN, models), columns=list(FACTS))
    return points, compared, answers


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 11)), max_size=80))
def test_every_kept_level_has_the_same_prompts(rows) -> None:
    """Two levels or more, or none."""
    levels, units = (np.array([row[side] for row in rows], dtype=int) for side in (0, 1))
    kept = crossed(levels, units)
    counts = np.zeros((5, 12), dtype=int)
    np.add.at(counts, (levels[kept], units[kept]), 1)
    there = counts[counts.any(axis=1)]
    assert kept.shape == levels.shape and len(there) != 1
    assert len(there) == 0 or (there == there[0]).all()
    if any(a != b and u == v for a, u in rows for b, v in rows):
        assert kept.any()


def test_a_curve_over_lengths_is_none_over_languages() -> None:
    """Hindi, which fails, is asked at the short length alone."""
    right = scores("a", lambda lang, *_: lang == "en", ("en", "hi"), (1000,))
    longer = scores("a", lambda *_: True, ("en",), (2000,))
    points, compared, _ = made(pd.concat([right, longer], ignore_index=True), "a")
    by_length = points[points["axis"] == "length"]
    assert by_length["value"].tolist() == [1.0, 1.0]
    assert by_length["n"].tolist() == [20, 20]
    assert compared.loc[compared["axis"] == "length", "difference"].tolist() == [0.0]


def test_models_stand_on_the_same_answered_prompts() -> None:
    """A failed request leaves its question out at every level."""
    rows = scores("a", lambda lang, length, depth, i: i < 10, lengths=(1000, 2000))
    rows.loc[rows.index[3], "finish_reason"] = "error"
    points, _, answers = made(rows, "a")
    assert points["n"].tolist() == [19, 19]
    assert points["value"].tolist() == pytest.approx([9 / 19] * 2)
    assert (answers["n"].tolist(), answers["failed"].tolist()) == ([40], [1])
    # The second failed where the first was not asked; the third was asked too little.
    first = scores("a", lambda *_: True, lengths=(1000, 2000), n=10)
    second = scores("b", lambda lang, length, depth, i: i < 10, lengths=(1000, 2000), n=20)
    third = scores("c", lambda *_: True, lengths=(1000, 2000), n=5)
    points, _, _ = made(pd.concat([first, second, third], ignore_index=True), "a", "b", "c")
    on_card = points[points["card"] == "a"]
    assert on_card.groupby("model")["value"].mean().to_dict() == {"a": 1.0, "b": 1.0}


def test_questions_are_pairs_and_intervals_count_them() -> None:
    """Each question falls from one length to the other: far surer than of other questions."""
    easy = np.random.default_rng(1).random(40)
    values = np.concatenate([easy, easy - 0.1])
    (both,) = sides("length", [1, 2], np.repeat([0, 1], 40))
    paired = difference(values, np.tile(np.arange(40), 2), both)
    apart = difference(values, np.arange(80), both)
    assert paired.value == apart.value == pytest.approx(-0.1)
    assert paired.shows_drop and not apart.shows_drop
    # One question asked forty times is one question, and five show no drop.
    assert not difference(values, np.zeros(80, dtype=int), both).shows_drop
    for n in (LEAST_QUESTIONS - 1, LEAST_QUESTIONS, 12):
        (both,) = sides("length", [1, 2], np.repeat([0, 1], n))
        found = difference(np.repeat([1.0, 0.0], n), np.tile(np.arange(n), 2), both)
        assert found.shows_drop == (n >= LEAST_QUESTIONS)
    # The middle is compared with both ends.
    level = np.arange(5)
    (both,) = sides("depth", [0.0, 0.3, 0.55, 0.9, 1.0], level)
    assert (both.level, level[both.first].tolist()) == (0.55, [0, 4])
    assert level[both.second].tolist() == [2]


def test_chance_alone_seldom_makes_a_drop() -> None:
    """Each of fifty cards' fifteen comparisons has its own 95% interval: one side of it misses in 2.5%."""
    rng = np.random.default_rng(7)
    langs = tuple("abcdefghijklm")
    rows = scores("a", lambda *_: False, langs, (1, 2), (0.0, 0.5, 1.0), n=8)
    claimed = 0
    for _ in range(50):
        points = list(
            curves("b", CARD, rows.assign(value=rng.integers(2, size=len(rows)) * 1.0), RUN, ["a"])
        )
        _, compared = tables(points)
        assert len(compared) == 15
        claimed += int(compared["drop"].sum())
    assert claimed <= 0.025 * 50 * 15 + 9


@st.composite
def comparisons(draw) -> pd.DataFrame:
    rows = []
    for i in range(draw(st.integers(1, 11))):
        low, high = sorted(draw(st.tuples(*[st.integers(-100, 100)] * 2)))
        n = draw(st.integers(2, 30))
        axis = draw(st.sampled_from(["length", "depth", "needles", "language"]))
        part = draw(st.sampled_from(["", "x", "y"]))
        low, high, drop = low / 100, high / 100, high < 0 and n >= LEAST_QUESTIONS
        labels = ("m", "b", part, axis, i, f"comparison {i} here")
        rows.append((*labels, (low + high) / 2, low, high, n, drop))
    return pd.DataFrame(rows, columns=list(COMPARED))


@given(comparisons())
def test_a_sentence_claims_the_shown_drops_largest_first(compared) -> None:
    """What could be missed is a table."""
    said = sentence("m", compared, TITLES)
    named = [int(number) for number in re.findall(r"comparison (\d+) here", said)]
    shown = compared[compared["drop"].astype(bool)].sort_values("difference", kind="stable")
    assert compared["difference"].iloc[named].tolist() == shown["difference"].tolist()
    assert sorted(named) == sorted(shown["level"])
    assert ("loses" in said) == bool(named)
    assert said.count("\n") == 0 and said.endswith(".")
    assert all(len(one.split()) <= 25 for one in said.split(". "))
    quiet = {
        (str(part), str(axis)): -own["ci_low"].min()
        for (part, axis), own in compared.groupby(["part", "axis"])
        if not own["drop"].any() and own["ci_low"].min() < 0
    }
    found = {
        (called.removeprefix("Bench").strip(), axis): points
        for _, called, by_axis in missed(compared, TITLES)
        for axis, points in by_axis.items()
    }
    assert found.keys() == quiet.keys()
    assert all(float(found[one]) == pytest.approx(100 * quiet[one], abs=0.5) for one in quiet)


def test_a_real_drop_is_told_with_its_interval() -> None:
    rows = scores("mine", lambda lang, n, d, i: n == 1000 or i < 4, lengths=(1000, 2000), n=40)
    _, compared, _ = made(rows, "mine")
    said = sentence("mine", compared, TITLES)
    assert re.match(
        r"mine loses 90 points \[\d+, \d+\] from 1000 to 2000 tokens \(Bench, 40 questions\)", said
    )


def test_prompts_of_one_kind_show_nothing() -> None:
    points, compared, answers = made(scores("mine", lambda *_: True), "mine")
    said = sentence("mine", compared, TITLES)
    assert "cannot show where it breaks" in said
    figure = draw("mine", points, compared, answers, TITLES)
    assert figure.get_size_inches()[0] == pytest.approx(COLUMN)
    bare = draw("mine", points, compared, answers, TITLES, form="page")
    assert bare.get_supxlabel() == "" != figure.get_supxlabel()
    assert bare.get_size_inches()[1] < figure.get_size_inches()[1]


def test_what_a_reader_must_know_of_answers_is_counted() -> None:
    rows = scores("a", lambda *_: True, n=10)
    rows["outcome"] = ["empty", *["answered"] * 9]
    rows["answered_in"] = ["en", "hi", None, *["en"] * 7]
    rows.loc[[4, 5], "finish_reason"] = ["length", "skipped"]
    card = Card(
        (PART,), CARD.asked_in, said_none=lambda rows, run: rows["value"].where(rows.index < 4)
    )
    (found,) = facts("b", card, rows, RUN, ["a", "nobody"])
    counts = {name: found[name] for name in ("n", "cut", "empty", "failed", "skipped")}
    assert counts == {"n": 10, "cut": 1, "empty": 1, "failed": 0, "skipped": 1}
    assert (found["said_none"], found["with_needle"]) == (4, 4)
    assert (found["other_language"], found["decided"]) == (1, 8)


def test_a_share_is_never_rounded_to_none_or_all() -> None:
    assert [percent(*pair) for pair in ((0, 9), (1, 1000), (999, 1000), (9, 9), (0, 0))] == [
        *("0%", "<1%", ">99%", "100%", "\u2013")
    ]


def test_names_of_models_stay_on_the_card_as_they_are() -> None:
    model = "$x_1$ " + "long-name-" * 9
    rows = scores(model, lambda lang, n, d, i: i < 5, ("en", "hi"), (1000, 2000), (0.0, 0.5, 1.0))
    figure = draw(model, *made(rows, model), TITLES)
    with style():
        figure.draw_without_rendering()
    assert figure.get_size_inches()[1] <= TALLEST
    title = figure.get_suptitle()
    assert "$x_1$" in title and title.count("\n") >= 1


@pytest.mark.parametrize("langs, depths", [(("en",), (0.0,)), (("en", "hi"), (0.0, 0.5, 1.0))])
def test_a_card_from_its_files_is_the_same(tmp_path, langs, depths) -> None:
    """Also if every level and every model looks like a number."""
    rows = scores("007", lambda lang, n, d, i: i < n / 200, langs, (1000, 2000), depths)
    kept = made(rows, "007")
    files = [tmp_path / f"{name}.csv" for name in ("points", "comparisons", "answers")]
    for table, file in zip(kept, files, strict=True):
        table.to_csv(file, index=False)
    again = [read(file) for file in files]
    assert sentence("007", again[1], TITLES) == sentence("007", kept[1], TITLES)
    words = [
        {text.get_text() for text in draw("007", *tables, TITLES).findobj(Text)}
        for tables in (kept, again)
    ]
    assert words[0] == words[1] and "2000" in words[0]


def test_curves_of_few_answers_are_in_no_sentence() -> None:
    for n, shown in ((9, False), (10, True)):
        rows = scores("mine", lambda *place: place[1] == 1000, lengths=(1000, 2000), n=n)
        points, compared, _ = made(rows, "mine")
        assert bool(len(reportable(points, compared))) is shown
    # A run without comparisons keeps their columns.
    points, compared = tables([])
    assert list(reportable(points, compared)) == list(compared) != []


def test_lengths_have_the_unit_of_the_models_tokenizer() -> None:
    names = ["by_words", "by_tokens"]
    rows = pd.concat(scores(model, lambda *_: True, lengths=(1000, 2000)) for model in names)
    run = Context(published.none(), {"in_words": ["by_words"]})
    points, compared = tables(list(curves("b", CARD, rows.reset_index(drop=True), run, names)))
    units = points.drop_duplicates("card").set_index("card")["unit"]
    assert units.to_dict() == {"by_words": "words", "by_tokens": "tokens"}
    assert "from 1000 to 2000 words" in compared["comparison"].tolist()
    fact = {"benchmark": "b", "model": "by_words", "claimed": 131072.0}
    for effective, own, said in (
        (2000.0, points, ("128K words", "at least 2K words, the longest asked")),
        (0.0, points, ("128K words", "below 1K words, the shortest asked")),
        (0.0, points[:0], ("128K tokens", "below the shortest asked")),
    ):
        assert lengths_in_words({**fact, "effective": effective}, own) == said


def test_languages_are_one_strip_with_the_best_first() -> None:
    rows = scores("a", lambda lang, n, d, i: i < {"en": 20, "hi": 5}[lang], ("hi", "en"))
    figure = draw("a", *made(rows, "a"), TITLES, colour="#123456", form="page")
    (strip,) = [
        ax
        for ax in figure.axes
        if [tick.get_text() for tick in ax.get_xticklabels()] == ["en", "hi"]
    ]
    assert [text.get_text() for text in strip.texts] == ["100", "25", "Bench, n\u00a0=\u00a020"]


@pytest.mark.parametrize("form", FORMS)
def test_the_table_of_answers_lies_on_the_card(form: str) -> None:
    """Also where nothing is compared, so that no panel is wider."""
    rows = scores("mine", lambda *place: True, ("en",), (1000,), (0.0,))
    figure = draw("mine", *made(rows, "mine"), TITLES, form=form)
    with style():
        figure.draw_without_rendering()
    heads = [text for text in figure.findobj(Text) if text.get_text() in HEADS]
    assert len(heads) == len(HEADS)
    assert all(
        figure.bbox.containsx(x) for text in heads for x in text.get_window_extent().intervalx
    )
