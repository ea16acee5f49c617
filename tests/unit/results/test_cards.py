"""Report cards and their numbers: curves of prompts that differ in nothing else, and what they show."""

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
from needlework.results.cards.card import Card, CardPart
from needlework.results.cards.drawn import FORMS, HEADS, draw_card, whole_percent
from needlework.results.drawing.style import COLUMN, TALLEST, style
from needlework.results.numbers.answers import answers as answers_of
from needlework.results.numbers.claims import claims, comparison_rows
from needlework.results.numbers.curves import crossed, curves
from needlework.results.numbers.in_words import lengths_in_words, loss, missed, sentence
from needlework.results.numbers.means import KEYS
from needlework.results.numbers.tables import COMPARED, frame, panels, read
from needlework.results.result import Context

RUN = Context(published.none(), {})
LENGTH = Factor("length", "int32", label="tokens")
PART = CardPart(
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


NO_SECOND_SCORER = pd.Series(
    dtype=float, index=pd.MultiIndex.from_arrays([[], [], []], names=KEYS), name="value"
)


def curves_of(
    rows: pd.DataFrame, *models: str, card: Card = CARD, run: Context = RUN, careful=None
):
    careful = NO_SECOND_SCORER if careful is None else careful
    return list(curves("b", card, rows, careful, run, models))


def tables(found):
    """Points and comparisons of curves."""
    points = frame("points", [point for curve in found for point in curve.points()])
    return points, claims(
        frame("comparisons", [row for own in found for row in comparison_rows(own)])
    )


def made(rows: pd.DataFrame, *models: str):
    found = curves_of(rows, *models)
    answers = list(answers_of("b", CARD, rows, found, RUN, models))
    return *tables(found), frame("answers", answers)


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
    points, found, _ = made(pd.concat([right, longer], ignore_index=True), "a")
    by_length = points[points["axis"] == "length"]
    assert by_length["value"].tolist() == [1.0, 1.0]
    assert by_length["n"].tolist() == [20, 20]
    assert found.loc[found["axis"] == "length", "difference"].tolist() == [0.0]


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


def of_length(right, n: int = 20):
    """The comparison of two lengths; `right` gives values by length and question."""
    rows = scores("a", lambda lang, length, depth, i: right(length, i), lengths=(1, 2), n=n)
    (row,) = tables(curves_of(rows, "a"))[1].to_dict("records")
    return row


def test_questions_are_pairs_and_few_show_no_loss() -> None:
    """Each question falls a little from one length to the other."""
    easy = np.random.default_rng(1).random(40)
    row = of_length(lambda length, i: easy[i] - 0.1 * (length == 2), n=40)
    assert row["difference"] == pytest.approx(-0.1) and row["shown"] and row["ci_high"] < 0
    assert (row["n"], row["n_questions"]) == (80, 40)
    for n in (4, 5, 12):
        rows = scores(
            "a", lambda lang, length, *_: length == 1, lengths=(1, 2), depths=range(5), n=n
        )
        part = CardPart(PART.rows, PART.held, length=LENGTH)
        found = tables(curves_of(rows, "a", card=Card((part,), CARD.asked_in)))[1]
        assert found["shown"].tolist() == [n >= 5]
    # Nine answers per point show nothing, whatever they are.
    assert not of_length(lambda length, i: length == 1, n=9)["shown"]


def test_the_middle_is_compared_with_both_ends() -> None:
    depths = (0.0, 0.3, 0.55, 0.9, 1.0)
    rows = scores("a", lambda lang, length, depth, i: depth != 0.55, depths=depths)
    (row,) = tables(curves_of(rows, "a"))[1].to_dict("records")
    assert (row["level"], row["first"], row["second"]) == (0.55, 1.0, 0.0)
    assert (row["first_side"], row["second_side"]) == ("at the ends", "in the middle")
    assert row["n"] == 60 and row["shown"]


@pytest.mark.parametrize("english", [True, False])
def test_languages_are_compared_with_english(english: bool) -> None:
    """A loss that several languages share is not halved; without English, every two are compared."""
    langs = ("en" if english else "de", "hi", "sw")
    rows = scores("a", lambda lang, length, depth, i: lang in ("en", "de") or i < 6, langs)
    found = tables(curves_of(rows, "a"))[1]
    assert len(found) == (2 if english else 3)
    losses = found[found["shown"]]
    assert losses["difference"].tolist() == pytest.approx([-0.7, -0.7])
    first = "English" if english else "German"
    assert set(losses["second_side"]) == {"in Hindi", "in Swahili"}
    assert set(losses["first_side"]) == {f"in {first}"}


def test_sides_of_other_questions_are_tested() -> None:
    """Each length has its own questions, as the tasks of ONERULER have."""
    rows = scores("a", lambda lang, length, depth, i: length == 1 or i < 2, lengths=(1, 2))
    rows["example_id"] += rows["length"].astype(str)
    (row,) = tables(curves_of(rows, "a"))[1].to_dict("records")
    assert row["n_questions"] == 40 and row["shown"] and row["p"] < 1e-4


def test_questions_of_other_levels_have_no_part() -> None:
    """Three lengths, each with its own questions: p is that of two lengths."""
    found = []
    for lengths in ((1, 3), (1, 2, 3)):
        rows = scores("a", lambda lang, length, depth, i: i < 24 - 8 * length, lengths=lengths)
        rows["example_id"] += rows["length"].astype(str)
        (row,) = tables(curves_of(rows, "a"))[1].to_dict("records")
        found.append((row["p"], row["least_p"], row["difference"], row["n_questions"]))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "depths, said",
    [
        ((0.0, 0.55, 1.0), ("at the ends", "in the middle")),
        ((0.0, 0.5), ("at the start", "in the middle")),
        ((0.0, 1.0), ("at the start", "at the end")),
        ((0.25, 0.75), ("at depth 25%", "at depth 75%")),
        ((0.5, 0.75, 1.0), ("in the middle and at the end", "at depth 75%")),
    ],
)
def test_a_depth_is_called_the_end_only_at_the_end(depths, said) -> None:
    rows = scores("a", lambda *_: True, depths=depths)
    (row,) = tables(curves_of(rows, "a"))[1].to_dict("records")
    assert (row["first_side"], row["second_side"]) == said


def test_points_name_depths_in_percent() -> None:
    rows = scores("a", lambda *_: True, depths=(0.0, 0.125, 1.0))
    points = tables(curves_of(rows, "a"))[0]
    assert list(points["called"]) == ["0%", "12.5%", "100%"]


def test_chance_alone_seldom_makes_a_loss() -> None:
    """Over fifty cards of fourteen comparisons."""
    rng = np.random.default_rng(7)
    langs = ("en", *"abcdefghijkl")
    rows = scores("a", lambda *_: False, langs, (1, 2), (0.0, 0.5, 1.0), n=8)
    claimed = 0
    for _ in range(50):
        answers = rows.assign(value=rng.integers(2, size=len(rows)) * 1.0)
        _, found = tables(curves_of(answers, "a"))
        assert len(found) == 14
        claimed += bool(found["shown"].any())
    assert claimed <= 6


def test_both_scorers_are_named_where_they_differ() -> None:
    rows = scores("a", lambda lang, length, depth, i: length == 1 and i < 18, lengths=(1, 2))
    second = rows.assign(value=((rows["length"] == 1) | (rows.index % 2 == 0)).astype(float))
    said = []
    for careful in (rows, second, second[second["length"] == 1]):
        found = curves_of(rows, "a", careful=careful.set_index(KEYS)["value"])
        said.append(loss(tables(found)[1].iloc[0], TITLES))
    mean = r"a loses 90 points \[\d+, \d+\] by length: 90% at 1 tokens, 0% at 2 tokens \(20 questions, Bench"
    assert re.fullmatch(mean + r"\)", said[0]) and said[2] == said[0]
    assert re.fullmatch(mean + r"; by the second scorer 100% and 50%\)", said[1])


@st.composite
def comparisons(draw) -> pd.DataFrame:
    rows = []
    for i in range(draw(st.integers(1, 11))):
        low, high = sorted(draw(st.tuples(*[st.integers(-100, 100)] * 2)))
        row = dict.fromkeys(COMPARED, 0.5) | {"card": "m", "benchmark": "b", "level": i}
        row |= {"axis": draw(st.sampled_from(["length", "depth", "needles", "language"]))}
        row |= {"part": draw(st.sampled_from(["", "x", "y"])), "second_side": f"at comparison {i}"}
        row |= {"first_side": "at the others"}
        row |= {"difference": (low + high) / 200, "ci_low": low / 100, "ci_high": high / 100}
        row |= {"n_questions": draw(st.integers(2, 30)), "shown": high < 0 and draw(st.booleans())}
        rows.append(row)
    return frame("comparisons", rows)


@given(comparisons())
def test_a_sentence_claims_the_shown_losses_largest_first(compared) -> None:
    """What could be missed is a table."""
    said = sentence("m", compared, TITLES)
    named = [int(number) for number in re.findall(r"comparison (\d+) against", said)]
    shown = compared[compared["shown"].astype(bool)].sort_values("difference", kind="stable")
    assert compared["difference"].iloc[named].tolist() == shown["difference"].tolist()
    assert sorted(named) == sorted(shown["level"])
    assert ("loses" in said) == bool(named)
    assert said.count("\n") == 0 and said.endswith(".")
    assert all(len(one.split()) <= 25 for one in said.split(". "))
    quiet = {
        (str(part), str(axis)): -own["ci_low"].min()
        for (part, axis), own in compared.groupby(["part", "axis"])
        if not own["shown"].any() and own["ci_low"].min() < 0
    }
    found = {
        (called.removeprefix("Bench").strip(), axis): points
        for _, called, by_axis in missed(compared, TITLES)
        for axis, points in by_axis.items()
    }
    assert found.keys() == quiet.keys()
    assert all(float(found[one]) == pytest.approx(100 * quiet[one], abs=0.5) for one in quiet)


def test_a_real_loss_is_told_with_its_interval() -> None:
    rows = scores("mine", lambda lang, n, d, i: n == 1000 or i < 4, lengths=(1000, 2000), n=40)
    _, found, _ = made(rows, "mine")
    said = sentence("mine", found, TITLES)
    assert re.match(
        r"mine loses 90 points \[\d+, \d+\] at 2000 tokens against 1000 tokens \(Bench, 40 questions\)",
        said,
    )


def test_prompts_of_one_kind_show_nothing() -> None:
    points, found, answers = made(scores("mine", lambda *_: True), "mine")
    said = sentence("mine", found, TITLES)
    assert "To show where mine breaks, ask the same questions at two lengths" in said
    figure = draw_card("mine", points, found, answers, TITLES)
    assert figure.get_size_inches()[0] == pytest.approx(COLUMN)
    bare = draw_card("mine", points, found, answers, TITLES, form="page")
    assert bare.get_supxlabel() == "" != figure.get_supxlabel()
    assert bare.get_size_inches()[1] < figure.get_size_inches()[1]


def test_what_a_reader_must_know_of_answers_is_counted() -> None:
    rows = scores("a", lambda *_: True, n=10)
    rows["outcome"] = ["empty", *["answered"] * 9]
    rows["answered_in"] = ["en", "hi", None, *["en"] * 7]
    rows.loc[[4, 5], "finish_reason"] = ["length", "skipped"]
    rows.loc[[0, 4, 6], "value"] = 0.0
    card = Card(
        (PART,), CARD.asked_in, said_none=lambda rows, run: rows["value"].where(rows.index < 4)
    )
    (found,) = answers_of("b", card, rows, [], RUN, ["a", "nobody"])
    counts = {name: found[name] for name in ("n", "cut", "empty", "failed", "skipped")}
    assert counts == {"n": 10, "cut": 1, "empty": 1, "failed": 0, "skipped": 1}
    assert (found["said_none"], found["with_needle"]) == (3, 4)
    # The cut and the empty answer are lost; another one is wrong.
    assert (found["lost_cut"], found["lost_empty"], found["judged"]) == (1, 1, 9)
    assert (found["other_language"], found["decided"]) == (1, 8)


def test_a_share_is_never_rounded_to_none_or_all() -> None:
    assert [whole_percent(*pair) for pair in ((0, 9), (1, 1000), (999, 1000), (9, 9), (0, 0))] == [
        *("0%", "<1%", ">99%", "100%", "\u2013")
    ]


def test_names_of_models_stay_on_the_card_as_they_are() -> None:
    model = "$x_1$ " + "long-name-" * 9
    rows = scores(model, lambda lang, n, d, i: i < 5, ("en", "hi"), (1000, 2000), (0.0, 0.5, 1.0))
    figure = draw_card(model, *made(rows, model), TITLES)
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
        {text.get_text() for text in draw_card("007", *tables, TITLES).findobj(Text)}
        for tables in (kept, again)
    ]
    assert words[0] == words[1] and "2000" in words[0]


def test_lengths_have_the_unit_of_the_models_tokenizer() -> None:
    names = ["by_words", "by_tokens"]
    rows = pd.concat(scores(model, lambda *_: True, lengths=(1000, 2000)) for model in names)
    run = Context(published.none(), {"in_words": ["by_words"]})
    points, found = tables(curves_of(rows.reset_index(drop=True), *names, run=run))
    units = points.drop_duplicates("card").set_index("card")["unit"]
    assert units.to_dict() == {"by_words": "words", "by_tokens": "tokens"}
    assert "at 2000 words" in found["second_side"].tolist()
    assert panels(points) == 2
    fact = {"benchmark": "b", "model": "by_words", "claimed": 131072.0}
    for reached, said in (
        ((2000.0, 2000.0, 2000.0), "2K words or more"),
        ((0.0, 1000.0, 2000.0), "1K words [below 1K to 2K or more]"),
        ((0.0, 0.0, 0.0), "below 1K words"),
        ((None, None, None), "unknown"),
    ):
        ends = dict(zip(("effective_low", "effective", "effective_high"), reached, strict=True))
        assert lengths_in_words({**fact, **ends}, points) == ("128K words", said)
    assert lengths_in_words({**fact, **ends, "claimed": None}, points) is None


@pytest.mark.parametrize(
    "lost, reached", [(2, (2, 2, 2)), (8, (1, 2, 2)), (12, (1, 1, 2)), (18, (1, 1, 1))]
)
def test_effective_lengths_are_of_the_same_questions(lost: int, reached: tuple) -> None:
    """The baseline has further questions, all wrong, which no length has."""
    right = scores("a", lambda lang, n, depth, i: n < 2 or i >= lost, lengths=(1, 2), n=40)
    alone = scores("a", lambda lang, n, depth, i: i < 40, lengths=(0,), n=80)
    rows = pd.concat([right, alone], ignore_index=True)
    part = CardPart(lambda rows, run: rows[rows["length"] > 0], held=("lang",), length=LENGTH)
    baseline = (lambda rows, run: rows[rows["length"] == 0], ("lang",))
    card = Card((part,), CARD.asked_in, baseline=baseline)
    run = Context(published.none(), {"claimed_length": {"a": 8}})
    (found,) = answers_of("b", card, rows, curves_of(rows, "a", card=card), run, ["a"])
    names = ("effective_low", "effective", "effective_high")
    assert tuple(found[name] for name in names) == reached and found["claimed"] == 8


def test_languages_are_one_strip_with_the_best_first() -> None:
    rows = scores("a", lambda lang, n, d, i: i < {"en": 20, "hi": 5}[lang], ("hi", "en"))
    figure = draw_card("a", *made(rows, "a"), TITLES, colour="#123456", form="page")
    (strip,) = [
        ax
        for ax in figure.axes
        if [tick.get_text() for tick in ax.get_xticklabels()] == ["en", "hi"]
    ]
    assert [text.get_text() for text in strip.texts] == ["100", "25", "Bench, 20\u00a0questions"]


@pytest.mark.parametrize("form", FORMS)
def test_the_table_of_answers_lies_on_the_card(form: str) -> None:
    """Also where nothing is compared, so that no panel is wider."""
    rows = scores("mine", lambda *place: True, ("en",), (1000,), (0.0,))
    figure = draw_card("mine", *made(rows, "mine"), TITLES, form=form)
    with style():
        figure.draw_without_rendering()
    heads = [text for text in figure.findobj(Text) if text.get_text() in HEADS]
    assert len(heads) == len(HEADS)
    assert all(
        figure.bbox.containsx(x) for text in heads for x in text.get_window_extent().intervalx
    )
