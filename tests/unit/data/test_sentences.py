"""Sentences: checked by hand in every language of ONERULER, and what holds of any text."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import assert_linear
from needlework.data import sentences
from needlework.data.corpora.registry import languages_of


def by_hand() -> dict[str, list[str]]:
    """Texts of each language whose sentences were written one a line."""
    file = Path(__file__).parents[2] / "data/sentences.txt"
    found: dict[str, list[str]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            known = found.setdefault(line.strip("[]"), [])
        elif not line.startswith("#"):
            known.append(line)
    return found


BY_HAND = by_hand()


LANGUAGES = languages_of("oneruler_books")


def cut(text: str, lang: str, **own) -> list[str]:
    return sentences.split(text, sentences.rules(lang, **own))


@pytest.mark.parametrize("lang", LANGUAGES)
def test_sentences_that_were_checked_by_hand(lang):
    rules = sentences.rules(lang)
    assert sentences.split(rules.joiner.join(BY_HAND[lang]), rules) == BY_HAND[lang]
    # However much white space there is.
    joiner = "\n\u3000" if lang in sentences.WITHOUT_SPACES else "\n\t\n "
    wide = joiner.join(sentence.replace(" ", "  \n") for sentence in BY_HAND[lang])
    assert cut(wide, lang) == BY_HAND[lang]


# What rules alone cannot decide stays whole, and what a language does not know is known in another.


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        *[("de", "Er kam am 3. Juli."), ("en", "She lives at No. 5."), ("en", "It is (!) Bob.")],
        *[("de", "»Ja?« {90}sagte sie."), ("en", "He read J. R. Tolkien.")],
        *[("fr", "« Venez ! » dit M. Martin."), ("hi", "वह … चला गया।")],
        *[("ja", "「はい。」と言った。"), ("zh", "“好。”他说。")],
        *[("ru", "Он родился в г. Минске, на ул. Ленина, д. 5."), ("st", "Mong. Molefe.")],
        ("uk", "Він народився в м. Київ на о. Хортиця біля р. Дніпро, театр ім. Франка."),
        ("ru", "На о. Сахалин жил кн. Вяземский."),
        ("pl", "To był gen. Anders i hr. Potocki."),
        ("cs", "Přišel npor. Lukáš a nadp. Novák."),
        ("it", "Parlò l'on. Rossi con on. Bianchi."),
        *[("ta", "டாக்டர். ராமன், செல்வி. கமலா வந்தனர்."), ("no", "Han så bl. a. Kari.")],
        *[("da", "Han så bl. a. Kari."), ("sv", "Han såg bl. a. Karin.")],
        *[("ko", '"누구냐?" 그가 물었다.'), ("ko", "“가자.” 어머니가 조용히 말했다.")],
        *[("hi", '"मैं जाऊँगा।" और चला गया।'), ("hi", "‘मैं जाती हूँ।’ यह कह कर चपला चली गई।")],
    ],
)
def test_a_stop_that_ends_nothing(lang, text):
    assert cut(text, lang) == [text]


@pytest.mark.parametrize(
    ("lang", "parts"),
    [
        # The same words without the language's reason.
        *[("en", ["He was 3.", "Max laughed."]), ("en", ["She said no.", "He left."])],
        *[("en", ["I.", "You."]), ("ja", ["「はい。」", "山田が言った。"])],
        *[("zh", ["“好。”", "他笑了。"]), ("zh", ["“好。”", "他说：“走！”"])],
        *[("st", ["Ke mong.", "Molefe."]), ("ru", ["Он родился в 1921 г.", "Отец ушёл."])],
        ("ko", ['그가, " 가자.', '어서. "', "그는 갔다."]),
        *[("ko", ['"누구냐?"', "그는 웃었다."]), ("ko", ["누구냐?", "그가 물었다."])],
        *[("hi", ["क्या तुम जाओगे?", "और वह चला गया।"]), ("hi", ["“नहीं।”", "कहानी लंबी थी।"])],
        *[("uk", ["Довжина 5 м.", "Потім він пішов."]), ("uk", ["У 1910 р.", "Батько пішов."])],
        *[("pl", ["Dał im.", "Potem wyszedł."]), ("en", ["Wait . . .", "Bob is here."])],
        *[("hi", ["वह आया।", "मैं गया।"]), ("en", ["Is it so?", "… Nobody knew."])],
        ("en", ["It was said.[12]", "Nobody knew.*", "Then (it rained.)", "Bob left."]),
    ],
)
def test_a_stop_that_ends_a_sentence(lang, parts):
    assert cut(" ".join(parts) if lang not in ("ja", "zh") else "".join(parts), lang) == parts


def test_a_further_language_has_general_rules_or_its_own():
    text = ["D-ro Zamora venis je la 3. Majo.", "“Ĉu vi venas?” ŝi demandis."]
    text += ["Prof. J. K. Nova ridis…", "Jes!"]
    assert cut(" ".join(text), "eo") == text
    text = ["S-ro. Zamora venis, k. t. p. Morgaŭ li foriros.", "Jes."]
    assert len(cut(" ".join(text), "eo")) == 3
    assert cut(" ".join(text), "eo", abbreviated=["k. t. p.", "s-ro."]) == text
    assert cut("ខ្ញុំទៅ។ អ្នកមក។", "km", joiner="") == ["ខ្ញុំទៅ។", "អ្នកមក។"]
    assert sentences.rules("km", joiner="").joiner == ""


@pytest.mark.parametrize(
    ("lang", "parts"),
    [
        ("ka", ["ის მოვიდა.", "მე წავედი."]),  # letters that Unicode calls small, without capitals
        *[("ar", ["أين أنت؟", "ذهبت إلى البيت."]), ("el", ["Ήρθε χθες.", "Μετά έφυγε!"])],
        *[("am", ["መጣ።", "ሄደ።"]), ("hy", ["Նա եկավ։", "Հետո գնաց։"])],
    ],
)
def test_stops_of_further_scripts(lang, parts):
    assert cut(" ".join(parts), lang) == parts


@given(st.text(alphabet="aB1 .!?…\"“”«»'’()[]-—\n\u3000。」「！？।।字ж", max_size=200))
def test_any_text_in_sentences_keeps_its_letters(text):
    for lang in ("en", "de", "ja", "hi", "ko"):
        found = cut(text, lang)
        assert re.sub(r"\s", "", "".join(found)) == re.sub(r"\s", "", text)
        assert all(part and part == part.strip() for part in found)


@pytest.mark.parametrize(
    ("lang", "text", "parts"),
    [
        *[("en", "", []), ("en", " \n ", []), ("en", "***", ["***"])],
        ("en", "He left. Then it rained. ***", ["He left.", "Then it rained. ***"]),
        ("hi", "वह आया।मैं गया।", ["वह आया।", "मैं गया।"]),
        ("ja", "「はい」\n「いいえ」\n私は行った。", ["「はい」", "「いいえ」", "私は行った。"]),
    ],
)
def test_texts_without_words_or_spaces(lang, text, parts):
    assert cut(text, lang) == parts


@pytest.mark.parametrize(
    ("separator", "lang"), [("; ", "en"), (", ", "en"), (" ", "en"), ("；", "zh"), ("，", "zh")]
)
def test_a_text_without_stops_is_cut_at_what_it_has(separator, lang):
    text = separator.join(["一二三四五六" if lang == "zh" else "abcdef"] * 2000)
    found = cut(text, lang)
    assert len(found) > 3
    assert all(0 < len(part) <= sentences.MAX_CHARACTERS for part in found)
    assert all(part.endswith(separator.strip()) for part in found[:-1])
    assert sentences.rules(lang).joiner.join(found) == text
    assert [len(part) for part in cut("字" * 7000, "zh")] == [3000, 3000, 1000]


def test_text_that_defeats_slow_patterns():
    for piece in ("A. ", "a. b? ", '" ', "« ( — ", ".", ". ", "! ", "… ", "x. … ", "1. "):
        assert_linear(lambda count, piece=piece: cut(piece * count, "en"), 500)


def test_every_language_has_its_abbreviations():
    # Without an entry it would have the general rules.
    spaced = set(LANGUAGES) - {"ja", "zh", "ko"}
    assert spaced <= set(sentences.INSIDE)
    entries = [*sentences.INSIDE.values(), *sentences.ENDING.values()]
    words = [word for entry in entries for word in entry.split()]
    assert not [word for word in words if word.endswith(".")]


@pytest.fixture(scope="module", params=LANGUAGES)
def book(request, mirror) -> tuple[str, str, list[str]]:
    """A language, its book, and the book's sentences, cut once for all tests."""
    (path,) = (mirror / "oneruler/OneRuler/data/books" / request.param).glob("*.txt")
    text = path.read_text(encoding="utf-8")
    return request.param, sentences.fold_spaces(text), cut(text, request.param)


def test_a_book_in_sentences_is_the_book(book):
    lang, text, found = book
    rules = sentences.rules(lang)
    assert re.sub(r"\s", "", "".join(found)) == re.sub(r"\s", "", text)
    assert all(found) and all(sentence == sentence.strip() for sentence in found)
    if lang not in ("hi", "ja", "zh"):  # dandas without spaces; paragraphs
        assert rules.joiner.join(found) == text
    lengths = sorted(map(len, found))
    assert 20 <= lengths[len(lengths) // 2] <= 200
    assert lengths[len(lengths) * 99 // 100] <= 1000
    assert lengths[-1] <= sentences.MAX_CHARACTERS


def test_book_sentences_end_after_stops_not_before_small_letters(book):
    lang, _, found = book
    stop = r"[.!?…。！？।॥۔؟][^\w\s]*(?: [»”\]\"])*(?:\[\d+\])*$"
    if lang in sentences.WITHOUT_SPACES:
        stop += "|[」』”]$"
    cut_for_length = [sentence for sentence in found[:-1] if not re.search(stop, sentence)]
    assert all(sentence[-1] in ";," for sentence in cut_for_length)
    # A sentence of Les Misérables, and the Swahili book's glossary.
    assert len(cut_for_length) <= {"fr": 1, "sw": 5}.get(lang, 0)
    small = [
        sentence
        for before, sentence in pairwise(found)
        if re.search(r"\w", sentence)[0].islower() and before not in cut_for_length
    ]
    assert all(re.match(r"\W*['’]\w \w", sentence) for sentence in small)  # Dutch "'s Avonds"
    assert len(small) < 0.02 * len(found)
