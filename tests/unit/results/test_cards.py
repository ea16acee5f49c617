"""Report cards: curves of prompts that differ in nothing else, and a sentence that claims what is shown."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
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
            "instance_id": f"{lang}{length}{depth}{i}",
            "example_id": f"q{i}",
            "sample": 0,
            "model": model,
            "metric": "m",
            "value": float(right(lang, length, depth, i)),
            "finish_reason": "stop",
            "verdict": "right",
            "lang": lang,
            "length": length,
            "depth": depth,
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


@pytest.mark.parametrize("seed", range(20))
def test_every_kept_level_has_the_same_prompts(seed) -> None:
    rng = np.random.default_rng(seed)
    levels, units = rng.integers(0, 5, 200), rng.integers(0, 12, 200)
    kept = crossed(levels, units)
    counts = np.zeros((5, 12), dtype=int)
    np.add.at(counts, (levels[kept], units[kept]), 1)
    there = counts[counts.any(axis=1)]
    assert len(there) >= 2
    assert (there == there[0]).all()


def test_levels_that_share_nothing_have_no_curve() -> None:
    assert not crossed(np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3])).any()
    assert crossed(np.array([], dtype=int), np.array([], dtype=int)).shape == (0,)


def test_a_curve_over_lengths_is_none_over_languages() -> None:
    """Hindi, which fails, is asked at the short length alone."""
    right = scores("a", lambda lang, *_: lang == "en", ("en", "hi"), (1000,))
    longer = scores("a", lambda *_: True, ("en",), (2000,))
    points, compared, _ = made(pd.concat([right, longer], ignore_index=True), "a")
    by_length = points[points["axis"] == "length"]
    assert by_length["value"].tolist() == [1.0, 1.0]
    assert by_length["n"].tolist() == [20, 20]
    assert compared.loc[compared["axis"] == "length", "difference"].tolist() == [0.0]


def test_a_failed_request_leaves_its_question_out_at_every_level() -> None:
    rows = scores("a", lambda lang, length, depth, i: i < 10, lengths=(1000, 2000))
    rows.loc[rows.index[3], "finish_reason"] = "error"
    points, _, answers = made(rows, "a")
    assert points["n"].tolist() == [19, 19]
    assert points["value"].tolist() == pytest.approx([9 / 19] * 2)
    assert (answers["n"].tolist(), answers["failed"].tolist()) == ([40], [1])


def test_other_models_stand_on_the_same_prompts() -> None:
    """The second failed where the first was not asked; the third was asked too little."""
    first = scores("a", lambda *_: True, lengths=(1000, 2000), n=10)
    second = scores("b", lambda lang, length, depth, i: i < 10, lengths=(1000, 2000), n=20)
    third = scores("c", lambda *_: True, lengths=(1000, 2000), n=5)
    points, _, _ = made(pd.concat([first, second, third], ignore_index=True), "a", "b", "c")
    on_card = points[points["card"] == "a"]
    assert on_card.groupby("model")["value"].mean().to_dict() == {"a": 1.0, "b": 1.0}


def test_questions_are_pairs_and_intervals_count_them() -> None:
    """Each question falls from one length to the other: far surer than of other questions."""
    rng = np.random.default_rng(1)
    easy = rng.random(40)
    values = np.concatenate([easy, easy - 0.1])
    level = np.repeat([0, 1], 40)
    (both,) = sides("length", [1, 2], level)
    paired = difference(values, np.tile(np.arange(40), 2), both, 0.05)
    apart = difference(values, np.arange(80), both, 0.05)
    assert paired.value == apart.value == pytest.approx(-0.1)
    assert paired.shows_drop and not apart.shows_drop
    # One question asked forty times is one question.
    assert not difference(values, np.zeros(80, dtype=int), both, 0.05).shows_drop


def test_five_questions_show_no_drop() -> None:
    for n in (LEAST_QUESTIONS - 1, LEAST_QUESTIONS, 12):
        values = np.repeat([1.0, 0.0], n)
        (both,) = sides("length", [1, 2], np.repeat([0, 1], n))
        found = difference(values, np.tile(np.arange(n), 2), both, 0.05)
        assert found.shows_drop == (n >= LEAST_QUESTIONS)


def test_the_middle_is_compared_with_both_ends() -> None:
    level = np.array([0, 1, 2, 3, 4])
    (both,) = sides("depth", [0.0, 0.3, 0.55, 0.9, 1.0], level)
    assert (both.level, level[both.first].tolist(), level[both.second].tolist()) == (
        0.55,
        [0, 4],
        [2],
    )


def test_chance_alone_seldom_makes_a_drop() -> None:
    """Over fifty cards of fifteen comparisons, as Bonferroni promises."""
    rng = np.random.default_rng(7)
    langs = tuple("abcdefghijklm")
    claimed = 0
    for _ in range(50):
        rows = scores("a", lambda *_: rng.random() < 0.5, langs, (1, 2), (0.0, 0.5, 1.0), n=8)
        _, compared, _ = made(rows, "a")
        assert len(compared) == 15
        claimed += bool(compared["drop"].any())
    assert claimed <= 6


def random_comparisons(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(int(rng.integers(1, 12))):
        low, high = sorted(rng.uniform(-1, 1, 2))
        n = int(rng.integers(2, 30))
        axis = ["length", "depth", "needles", "language"][int(rng.integers(4))]
        labels = ("m", "b", ["", "x", "y"][int(rng.integers(3))], axis, i, f"comparison {i} here")
        drop = high < 0 and n >= LEAST_QUESTIONS
        rows.append((*labels, (low + high) / 2, low, high, n, drop))
    return pd.DataFrame(rows, columns=list(COMPARED))


@pytest.mark.parametrize("seed", range(40))
def test_the_sentence_claims_only_drops_that_exclude_none(seed) -> None:
    compared = random_comparisons(seed)
    said = sentence("m", compared, TITLES)
    named = {int(number) for number in re.findall(r"comparison (\d+) here", said)}
    assert all(compared["ci_high"].iloc[i] < 0 for i in named)
    assert all(compared["n_questions"].iloc[i] >= LEAST_QUESTIONS for i in named)
    assert ("loses" in said) == bool(compared["drop"].any()) == bool(named)
    assert said.count("\n") == 0 and said.endswith(".")


@pytest.mark.parametrize("seed", range(40))
def test_every_shown_drop_is_told_the_largest_first(seed) -> None:
    compared = random_comparisons(seed)
    said = sentence("m", compared, TITLES)
    named = [int(number) for number in re.findall(r"comparison (\d+) here", said)]
    shown = compared[compared["drop"].astype(bool)].sort_values("difference")
    assert named == shown["level"].tolist()
    assert all(len(one.split()) <= 25 for one in said.split(". "))


@pytest.mark.parametrize("seed", range(40))
def test_drops_that_could_be_missed_are_a_table(seed) -> None:
    compared = random_comparisons(seed)
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


@pytest.mark.parametrize("n, shown", [(9, False), (10, True)])
def test_curves_of_few_answers_are_in_no_sentence(n: int, shown: bool) -> None:
    rows = scores("mine", lambda *place: place[1] == 1000, lengths=(1000, 2000), n=n)
    points, compared, _ = made(rows, "mine")
    assert bool(len(reportable(points, compared))) is shown


def test_a_run_without_comparisons_keeps_their_columns() -> None:
    points, compared = tables([])
    assert list(reportable(points, compared)) == list(compared) != []


def test_lengths_have_the_unit_of_the_models_tokenizer() -> None:
    rows = pd.concat(
        scores(model, lambda *_: True, lengths=(1000, 2000)) for model in ("by_words", "by_tokens")
    )
    run = Context(published.none(), {"in_words": ["by_words"]})
    points, compared = tables(
        list(curves("b", CARD, rows.reset_index(drop=True), run, ["by_words", "by_tokens"]))
    )
    units = points.drop_duplicates("card").set_index("card")["unit"]
    assert units.to_dict() == {"by_words": "words", "by_tokens": "tokens"}
    assert "from 1000 to 2000 words" in compared["comparison"].tolist()
    fact = {"benchmark": "b", "model": "by_words", "claimed": 131072.0, "effective": 2000.0}
    said = ("128K words", "at least 2K words, the longest asked")
    assert lengths_in_words(fact, points) == said
    short = {**fact, "effective": 0.0}
    assert lengths_in_words(short, points) == ("128K words", "below 1K words, the shortest asked")
    assert lengths_in_words(short, points[:0]) == ("128K tokens", "below the shortest asked")


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
