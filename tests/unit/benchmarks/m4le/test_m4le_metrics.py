"""M4LE's metrics against the packages that its released scorer uses."""

from __future__ import annotations

import importlib.util
import math
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from needlework.benchmarks.m4le import measures
from needlework.benchmarks.m4le import measures as ours
from needlework.benchmarks.m4le.normalised import (
    Normalised,
    Score,
    Weighed,
    combined,
    normalised,
    slope_weights,
)

PAIRS = 5000
ENGLISH = ["a", "b", "the", "cat", "dog.", "x", ".", "y", "..", "A", "z w", "I.B.M", "\n", "  "]
CHINESE = [
    "新闻",
    "。",
    "天气",
    "很好",
    "？",
    "“",
    "”",
    "我们",
    "\n",
    "……",
    "，",
    "a",
    "  ",
    "的",
    "！”",
    "......",
]


def pairs(words: list[str], space: str) -> Iterator[tuple[str, str]]:
    """Random texts of few words, so that they overlap in many ways."""
    rng = random.Random(7)
    for _ in range(PAIRS):
        first, second = (space.join(rng.choices(words, k=rng.randint(0, 18))) for _ in range(2))
        yield first, second


def _value(measure: Callable[..., float], *texts: str) -> float | None:
    try:
        return measure(*texts)
    except ValueError:
        return None


def test_english_recall_is_the_packages_on_random_pairs() -> None:
    rouge = pytest.importorskip("rouge").Rouge(metrics=["rouge-l"])
    for answer, gold in pairs(ENGLISH, " "):
        expected = _value(lambda a, g: rouge.get_scores(a, g)[0]["rouge-l"]["r"], answer, gold)
        assert _value(ours.recall_en, answer, gold) == expected, (answer, gold)


def test_chinese_recall_is_the_packages_on_random_pairs() -> None:
    rouge = pytest.importorskip("rouge_chinese").Rouge(metrics=["rouge-l"])
    jieba = pytest.importorskip("jieba")
    for answer, gold in pairs(CHINESE, ""):
        cut = [" ".join(jieba.cut(text)) for text in (answer, gold)]
        expected = _value(lambda a, g: rouge.get_scores(a, g)[0]["rouge-l"]["r"], *cut)
        assert _value(ours.recall_zh, answer, gold) == expected, (answer, gold)


def test_runs_of_characters_are_cut_as_jieba_does() -> None:
    finalseg = pytest.importorskip("jieba").finalseg
    # jieba's own, whatever ours has put in its place.
    spec = importlib.util.spec_from_file_location("jieba.finalseg", finalseg.__file__)
    package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    tables = ("BMES", finalseg.start_P, finalseg.trans_P, finalseg.emit_P)
    known, rng = sorted(finalseg.emit_P["B"]), random.Random(5)
    every = [chr(code) for code in range(0x4E00, 0x9FD6)]
    for _ in range(PAIRS):
        letters = rng.choice([every, known, known[:3]])
        text = "".join(rng.choices(letters, k=rng.randint(1, 40)))
        assert ours._most_probable(text, *tables) == package.viterbi(text, *tables), text


def test_recall_counts_word_types() -> None:
    """rouge-score gives 0.33 here: it is no substitute."""
    assert ours.recall_en("the cat", "the cat the cat the cat") == 1.0
    assert measures.rouge_lsum("the cat", "the cat the cat the cat") == pytest.approx(0.5)


@contextmanager
def _deep() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000_000)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@pytest.mark.slow
def test_recall_is_twenty_times_faster_on_long_texts() -> None:
    """Of 2,000 words, in sentences: the package recurses, so its stack is deep."""
    package = pytest.importorskip("rouge").Rouge(metrics=["rouge-l"])
    rng = random.Random(3)
    words = [f"w{rng.randint(0, 400)}" for _ in range(2000)]
    texts = [
        " ".join(word + ("." if place % 500 == 499 else "") for place, word in enumerate(own))
        for own in (words, rng.sample(words, len(words)))
    ]
    start = time.perf_counter()
    value = ours.recall_en(*texts)
    own_time = time.perf_counter() - start
    found: list[float] = []

    def run() -> None:
        with _deep():
            begin = time.perf_counter()
            expected = package.get_scores(*texts)[0]["rouge-l"]["r"]
            found.extend((expected, time.perf_counter() - begin))

    before = threading.stack_size(512 << 20)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    threading.stack_size(before)
    expected, their_time = found
    assert value == expected
    assert their_time / own_time > 20


# BLEU

TEXTS = [
    ("The cat sat on the mat, it said.", "The cat sat on a mat, he said."),
    ("A longer answer than the reference has words.", "A longer answer than it should be."),
    ("", "Nothing was answered here at all."),
    ("今天天气很好，我们去公园。", "今天天气非常好，我们都去公园玩。"),
]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_summed_statistics_give_sacrebleus_corpus_score(lang: str) -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    found = [measures.statistics(answer, gold, lang).flat() for answer, gold in TEXTS]
    answers, golds = zip(*TEXTS, strict=True)
    expected = sacrebleu.corpus_bleu(
        answers,
        [golds],
        smooth_method="none",
        tokenize="zh" if lang == "zh" else "13a",
    )
    assert measures.corpus(found) == pytest.approx(expected.score / 100, abs=1e-12)


def test_bleu_of_nothing_is_zero() -> None:
    """The released scorer divides by zero where all answers are empty."""
    pair = ("", "A reference.", "en")
    empty = measures.statistics(*pair)
    assert measures.corpus([empty.flat()]) == measures.corpus([]) == measures.sentence(*pair) == 0.0


def test_an_answer_as_its_reference_has_bleu_one() -> None:
    for text in ("Yes.", "是", "A longer reference of some words."):
        lang = "zh" if text == "是" else "en"
        assert measures.sentence(text, text, lang) == pytest.approx(1.0)


def test_bleu_of_one_answer_counts_its_ngrams() -> None:
    # 3 of 4 words, 1 of 3 pairs; no triple is found, so the whole is 0 without smoothing.
    assert measures.statistics("a b x c", "a b y c", "en").flat() == [3, 1, 0, 0, 4, 3, 2, 1, 4, 4]
    assert measures.sentence("a b x c", "a b y c", "en") == 0.0
    # Two words: of the n-grams that it has, all; a brevity penalty of exp(1 - 4 / 2).
    assert measures.sentence("a b", "a b y c", "en") == pytest.approx(math.exp(-1))


# Matches


def test_answers_are_cut_at_each_mark_in_turn() -> None:
    assert measures.cut(" Paris. It is\nlarge", ("\n", ".")) == "Paris"
    assert measures.cut("a, b\nc", (",", "\n")) == "a"
    assert measures.cut(" a ", ()) == "a"


def test_accuracy_and_equality() -> None:
    assert measures.accurate("It is PARIS", ["Rome", "paris"])
    assert not measures.accurate("It is", ["paris"])
    assert measures.equal(" Sport ", ["sport"])
    assert not measures.equal("sports", ["sport"])


@pytest.mark.parametrize(
    ("found", "gold", "value"),
    [
        ({"A", "B"}, {"A", "B"}, 1.0),
        ({"A"}, {"A", "B"}, 2 / 3),
        ({"C"}, {"A"}, 0.0),
        ({""}, {"A"}, 0.0),
    ],
)
def test_f1_of_ids(found: set[str], gold: set[str], value: float) -> None:
    assert measures.f1(found, gold) == pytest.approx(value)


def test_ids_end_at_the_full_stop() -> None:
    assert measures.id_set("A1, B2. And C3", ".", ",") == {"A1", "B2"}
    assert measures.id_set("A1，B2。C3", "。", "，") == {"A1", "B2"}
    assert measures.id_set("A1，B2", ".", ",") == {"A1，B2"}


# Overlap


def test_overlap_reads_chinese_and_other_scripts() -> None:
    for text in ("今天天气很好。我们去公园。", "Погода хорошая.", "मौसम अच्छा है।", "A plain text."):
        assert measures.rouge_lsum(text, text) == pytest.approx(1.0)
        assert measures.chrf(text, text) == pytest.approx(1.0)
        assert measures.rouge_lsum("", text) == measures.chrf("", text) == 0.0
    assert 0 < measures.rouge_lsum("今天天气很好。", "今天天气不好。") < 1


@pytest.mark.parametrize("pair", [("दिन", "दान"), ("பல", "பால்"), ("ปู", "ปี")])
def test_words_that_differ_in_their_vowels_do_not_overlap(pair) -> None:
    assert measures.rouge_lsum(*pair) == 0.0
    assert measures.rouge_lsum("cafe\u0301", "café") == 1.0


def test_rouge_lsum_is_the_packages_on_random_pairs() -> None:
    scorer = pytest.importorskip("rouge_score.rouge_scorer")
    rouge = scorer.RougeScorer(["rougeLsum"], tokenizer=measures.WordTokenizer())
    for words, space in ((ENGLISH, " "), (CHINESE, "")):
        for answer, gold in list(pairs(words, space))[: PAIRS // 2]:
            lines = ["\n".join(measures.sentences(text)) for text in (gold, answer)]
            expected = rouge.score(*lines)["rougeLsum"].fmeasure
            assert measures.rouge_lsum(answer, gold) == pytest.approx(expected, abs=1e-12)


def test_chrf_by_hand() -> None:
    # Of "abc" in "abd": 2 of 3 characters, 1 of 2 pairs, 0 of 1 triple, on both sides.
    assert measures.chrf("abc", "a b d") == pytest.approx((2 / 3 + 1 / 2 + 0) / 3)


# Normalised scores


def test_a_score_like_its_reference_is_a_half() -> None:
    assert normalised(Score(0.4), Score(0.4)) == Normalised(0.5, 0.0, 0.5, 0.5)


def test_the_interval_carries_the_references_uncertainty() -> None:
    sure = normalised(Score(0.4, 0.03), Score(0.6))
    unsure = normalised(Score(0.4, 0.03), Score(0.6, 0.05))
    assert sure.value == unsure.value == pytest.approx(0.4)
    assert unsure.ci_low < sure.ci_low < 0.4 < sure.ci_high < unsure.ci_high
    # Both of the same prompts: what they share moves both.
    assert normalised(Score(0.4, 0.03), Score(0.6, 0.05), covariance=0.001).se < unsure.se


def test_the_interval_covers_as_often_as_it_says() -> None:
    """Of 2,000 simulated pairs of accuracies of 200 answers each."""
    rng = random.Random(5)
    r, g, n, covered = 0.3, 0.6, 200, 0
    for _ in range(2000):
        drawn = [sum(rng.random() < p for _ in range(n)) / n for p in (r, g)]
        scores = [Score(p, math.sqrt(p * (1 - p) / n)) for p in drawn]
        found = normalised(*scores)
        covered += found.ci_low <= r / (r + g) <= found.ci_high
    assert 0.93 < covered / 2000 < 0.97


def test_missing_scores_have_no_normalised_score() -> None:
    assert math.isnan(normalised(Score(0.0), Score(0.0)).value)
    assert math.isnan(combined([]).value)


def test_one_cell_combines_to_its_normalised_score() -> None:
    r, g = Score(0.4, 0.03), Score(0.6, 0.05)
    one, alone = combined([Weighed("a", r, g, 0.0005, 1.0)]), normalised(r, g, 0.0005)
    assert one.value == pytest.approx(alone.value) == pytest.approx(0.4)
    assert one.se == pytest.approx(alone.se)


def test_the_error_of_a_mean_is_that_of_simulated_scores() -> None:
    """Two lengths of a task share its reference, another task has its own."""
    rng = random.Random(3)
    cells = (("a", 0.3, 0.6), ("a", 0.2, 0.6), ("b", 0.5, 0.4))
    se = 0.02
    weighed = [Weighed(t, Score(r, se), Score(g, se), 0.0, 1 / 3) for t, r, g in cells]
    drawn = []
    for _ in range(20_000):
        moved = {task: rng.gauss(0, se) for task in "ab"}
        scores = [(r + rng.gauss(0, se), g + moved[task]) for task, r, g in cells]
        drawn.append(sum(r / (r + g) for r, g in scores) / 3)
    middle = sum(drawn) / len(drawn)
    error = math.sqrt(sum((value - middle) ** 2 for value in drawn) / len(drawn))
    assert combined(weighed).value == pytest.approx(middle, abs=0.001)
    assert combined(weighed).se == pytest.approx(error, rel=0.03)


def test_slopes_are_over_the_place_of_the_bucket() -> None:
    values = [0.5, 0.4, 0.3, 0.2, 0.1]
    weights = slope_weights(range(5))
    assert sum(w * v for w, v in zip(weights, values, strict=True)) == pytest.approx(-0.1)
    assert slope_weights([0]) == []
