"""M4LE's metrics against the packages that its released scorer uses."""

from __future__ import annotations

import importlib
import importlib.util
import math
import random
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.benchmarks.m4le import measures
from needlework.benchmarks.m4le.normalised import (
    Normalised,
    Score,
    Weighed,
    combined,
    normalised,
    slope_weights,
)

ENGLISH = ["a", "b", "the", "cat", "dog.", "x", ".", "y", "..", "A", "z w", "I.B.M", "\n", "  "]
CHINESE = [*"新闻 。 天气 很好 ？ “ ” 我们 …… ， a 的 ！” ......".split(), "\n", "  "]


def pairs(words: list[str], space: str, n: int) -> Iterator[tuple[str, str]]:
    """Random texts of few words, so that they overlap in many ways; the last have long sentences."""
    rng = random.Random(7)
    for _ in range(n):
        first, second = (space.join(rng.choices(words, k=rng.randint(0, 18))) for _ in range(2))
        yield first, second
    yield tuple(
        ". ".join(" ".join(rng.choices("abcdefghijk", k=k)) for k in (130, 130, 100, 130, 30))
        for _ in range(2)
    )


def value_of(measure: Callable[..., float], *texts: str) -> float | None:
    try:
        return measure(*texts)
    except ValueError:
        return None


def test_recall_is_the_packages_in_english_and_chinese() -> None:
    rouge = pytest.importorskip("rouge").Rouge(metrics=["rouge-l"])
    for answer, gold in pairs(ENGLISH, " ", 5000):
        expected = value_of(lambda a, g: rouge.get_scores(a, g)[0]["rouge-l"]["r"], answer, gold)
        assert value_of(measures.recall_en, answer, gold) == expected, (answer, gold)
    # rouge-score counts each word: it is no substitute.
    assert measures.recall_en("the cat", "the cat the cat the cat") == 1.0
    assert measures.rouge_lsum("the cat", "the cat the cat the cat") == pytest.approx(0.5)
    rouge = pytest.importorskip("rouge_chinese").Rouge(metrics=["rouge-l"])
    jieba = pytest.importorskip("jieba")
    for answer, gold in pairs(CHINESE, "", 5000):
        cut = [" ".join(jieba.cut(text)) for text in (answer, gold)]
        expected = value_of(lambda a, g: rouge.get_scores(a, g)[0]["rouge-l"]["r"], *cut)
        assert value_of(measures.recall_zh, answer, gold) == expected, (answer, gold)


def test_runs_of_characters_are_cut_as_jieba_does() -> None:
    finalseg = pytest.importorskip("jieba").finalseg
    # jieba's own, whatever ours has put in its place.
    spec = importlib.util.spec_from_file_location("jieba.finalseg", finalseg.__file__)
    package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    tables = ("BMES", finalseg.start_P, finalseg.trans_P, finalseg.emit_P)
    known, rng = sorted(finalseg.emit_P["B"]), random.Random(5)
    every = [chr(code) for code in range(0x4E00, 0x9FD6)]
    for _ in range(700):
        letters = rng.choice([every, known, known[:3]])
        text = "".join(rng.choices(letters, k=rng.randint(1, 40)))
        assert measures._most_probable(text, *tables) == package.viterbi(text, *tables), text


TOKENIZERS = {"zh": "zh", "en": "13a"}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_summed_statistics_give_sacrebleus_corpus_score(lang: str) -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    texts = [
        ("The cat sat on the mat, it said.", "The cat sat on a mat, he said."),
        ("", "Nothing was answered here at all."),
        ("今天天气很好，我们去公园。", "今天天气非常好，我们都去公园玩。"),
    ]
    found = [measures.statistics(answer, gold, lang).flat() for answer, gold in texts]
    answers, golds = zip(*texts, strict=True)
    own = {"smooth_method": "none", "tokenize": TOKENIZERS[lang]}
    expected = sacrebleu.corpus_bleu(answers, [golds], **own)
    assert measures.corpus(found) == pytest.approx(expected.score / 100, abs=1e-12)


def test_bleu_of_one_answer_counts_its_ngrams() -> None:
    # 3 of 4 words, 1 of 3 pairs; no triple is found, so the whole is 0 without smoothing.
    assert measures.statistics("a b x c", "a b y c", "en").flat() == [3, 1, 0, 0, 4, 3, 2, 1, 4, 4]
    assert measures.sentence("a b x c", "a b y c", "en") == 0.0
    # Two words: of the n-grams that it has, all; a brevity penalty of exp(1 - 4 / 2).
    assert measures.sentence("a b", "a b y c", "en") == pytest.approx(math.exp(-1))
    for text, lang in (("Yes.", "en"), ("是", "zh"), ("A reference of some words.", "en")):
        assert measures.sentence(text, text, lang) == pytest.approx(1.0)
    # The released scorer divides by zero where all answers are empty.
    pair = ("", "A reference.", "en")
    empty = measures.statistics(*pair)
    assert measures.corpus([empty.flat()]) == measures.corpus([]) == measures.sentence(*pair) == 0.0


def test_matches_of_cut_answers_and_of_ids() -> None:
    assert measures.cut(" Paris. It is\nlarge", ("\n", ".")) == "Paris"
    assert measures.cut("a, b\nc", (",", "\n")) == measures.cut(" a ", ()) == "a"
    assert measures.accurate("It is PARIS", ["Rome", "paris"])
    assert not measures.accurate("It is", ["paris"])
    assert measures.equal(" Sport ", ["sport"]) and not measures.equal("sports", ["sport"])
    for found, value in (("AB", 1.0), ("A", 2 / 3), ("C", 0.0), ([""], 0.0)):
        assert measures.f1({*found}, {"A", "B"}) == pytest.approx(value)
    assert measures.id_set("A1, B2. And C3", ".", ",") == {"A1", "B2"}
    assert measures.id_set("A1，B2。C3", "。", "，") == {"A1", "B2"}
    assert measures.id_set("A1，B2", ".", ",") == {"A1，B2"}


def test_overlap_reads_chinese_and_other_scripts() -> None:
    for text in ("今天天气很好。我们去公园。", "Погода хорошая.", "मौसम अच्छा है।", "A plain text."):
        assert measures.rouge_lsum(text, text) == pytest.approx(1.0)
        assert measures.chrf(text, text) == pytest.approx(1.0)
        assert measures.rouge_lsum("", text) == measures.chrf("", text) == 0.0
    assert 0 < measures.rouge_lsum("今天天气很好。", "今天天气不好。") < 1
    # Words that differ in their vowels.
    for pair in (("दिन", "दान"), ("பல", "பால்"), ("ปู", "ปี")):
        assert measures.rouge_lsum(*pair) == 0.0
    assert measures.rouge_lsum("cafe\u0301", "café") == 1.0
    # Of "abc" in "abd": 2 of 3 characters, 1 of 2 pairs, 0 of 1 triple, on both sides.
    assert measures.chrf("abc", "a b d") == pytest.approx((2 / 3 + 1 / 2 + 0) / 3)


def test_rouge_lsum_is_the_packages() -> None:
    scorer = pytest.importorskip("rouge_score.rouge_scorer")
    rouge = scorer.RougeScorer(["rougeLsum"], tokenizer=measures.WordTokenizer())
    for words, space in ((ENGLISH, " "), (CHINESE, "")):
        for answer, gold in pairs(words, space, 400):
            lines = ["\n".join(measures.sentences(text)) for text in (gold, answer)]
            expected = rouge.score(*lines)["rougeLsum"].fmeasure
            assert measures.rouge_lsum(answer, gold) == pytest.approx(expected, abs=1e-12)


def test_ngrams_are_counted_as_sacrebleu_does() -> None:
    """To the last bit; also where more characters are shared than one number per n-gram can tell apart."""
    chrf = pytest.importorskip("sacrebleu.metrics.chrf").CHRF()
    bleu = importlib.import_module("sacrebleu.metrics.bleu").BLEU
    scorers = {
        lang: bleu(tokenize=name, smooth_method="none", effective_order=True)
        for lang, name in TOKENIZERS.items()
    }
    every = "".join(map(chr, range(0x4E00, 0x5300)))
    marks = [*"a 7 . , - & “ ” &amp; -\n 3.5 5-6 $ ( ) 天 气，".split(" "), " ", "\n", "cafe\u0301"]
    texts = [*pairs(ENGLISH, " ", 40), *pairs(CHINESE, "", 40), *pairs(marks, "", 100)]
    for answer, gold in [*texts, ("", "a"), (every, every[::-1]), (every, every[7:] + every)]:
        assert measures.chrf(answer, gold) == chrf.sentence_score(answer, [gold]).score / 100
        for lang, scorer in scorers.items():
            scored = scorer.sentence_score(answer, [gold])
            own = measures.statistics(answer, gold, lang)
            counted = *map(tuple, (scored.counts, scored.totals)), scored.sys_len, scored.ref_len
            assert own == (*counted,)
            assert measures.sentence(answer, gold, lang) == round(scored.score / 100, 12)


SHARES, ERRORS = st.floats(0.01, 0.99), st.floats(0, 0.1)


@given(r=SHARES, g=SHARES, se=ERRORS, se_g=ERRORS, shared=st.floats(0, 1))
def test_a_normalised_score_is_a_share_with_its_interval(r, g, se, se_g, shared) -> None:
    covariance = shared * se * se_g
    found = normalised(Score(r, se), Score(g, se_g), covariance)
    assert found.value == pytest.approx(r / (g + r))
    assert 0 <= found.ci_low <= found.value + 1e-12 <= found.ci_high + 2e-12 <= 1.001
    other = normalised(Score(g, se_g), Score(r, se), covariance)
    assert found.value + other.value == pytest.approx(1)
    assert other.ci_high == pytest.approx(1 - found.ci_low)
    # A reference without error makes it surer; what both share, too, as it moves both.
    assert normalised(Score(r, se), Score(g)).se <= normalised(Score(r, se), Score(g, se_g)).se
    assert found.se <= normalised(Score(r, se), Score(g, se_g)).se + 1e-12
    one = combined([Weighed("a", Score(r, se), Score(g, se_g), covariance, 1.0)])
    assert (one.value, one.se) == (pytest.approx(found.value), pytest.approx(found.se, abs=1e-9))


def test_slopes_and_scores_of_zero() -> None:
    assert normalised(Score(0.4), Score(0.4)) == Normalised(0.5, 0.0, 0.5, 0.5)
    assert math.isnan(normalised(Score(0.0), Score(0.0)).value)
    assert math.isnan(combined([]).value)
    values = [0.5, 0.4, 0.3, 0.2, 0.1]
    weights = slope_weights(range(5))
    assert sum(w * v for w, v in zip(weights, values, strict=True)) == pytest.approx(-0.1)
    assert slope_weights([0, 1]) == [-1.0, 1.0] and slope_weights([0]) == []


def test_intervals_and_errors_are_those_of_simulations() -> None:
    # Of 2,000 simulated pairs of accuracies of 200 answers each.
    r, g, n = 0.3, 0.6, 200
    covered = 0
    for drawn in np.random.default_rng(5).binomial(n, (r, g), (2000, 2)) / n:
        found = normalised(*(Score(p, math.sqrt(p * (1 - p) / n)) for p in drawn))
        covered += found.ci_low <= r / (r + g) <= found.ci_high
    assert 0.93 < covered / 2000 < 0.97
    # Two lengths of a task share its reference, another task has its own.
    scores, references, se = np.array([0.3, 0.2, 0.5]), np.array([0.6, 0.6, 0.4]), 0.02
    weighed = [
        Weighed(task, Score(r, se), Score(g, se), 0.0, 1 / 3)
        for task, r, g in zip("aab", scores, references, strict=True)
    ]
    rng = np.random.default_rng(3)
    r = scores + rng.normal(0, se, (20_000, 3))
    g = references + rng.normal(0, se, (20_000, 2))[:, [0, 0, 1]]
    drawn = (r / (r + g)).mean(axis=1)
    assert combined(weighed).value == pytest.approx(drawn.mean(), abs=0.001)
    assert combined(weighed).se == pytest.approx(drawn.std(), rel=0.03)
