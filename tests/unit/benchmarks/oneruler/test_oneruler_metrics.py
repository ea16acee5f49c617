"""ONERULER's metrics: answers read by the strict rules, and the released rules with their false verdicts."""

from __future__ import annotations

import csv
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import factories.oneruler
from needlework.benchmarks.oneruler import scores, strict
from needlework.benchmarks.oneruler.wording import ANSWER_TAGS, check, phrases
from needlework.errors import UserError

NONE_WORDS = phrases()

LANGS = "zh cs da nl en fi fr de hi hu it ja ko no fa pl pt ru sr st es sw sv ta uk vi".split()
ONE = ["1234567"]
FOUR = ["1234567", "2345678", "3456789", "4567890"]


def of_numbers(text, expected=ONE, lang="en"):
    read = strict.answer(text, ANSWER_TAGS)
    return strict.score_numbers(read, expected, NONE_WORDS[lang])


@given(
    st.integers(10, 9**12), st.sampled_from(",. '٬，\u202f\u00a0\u2019"), st.sampled_from("0०٠０")
)
def test_a_number_is_right_in_any_writing(number, separator, zero):
    digits = {ord("0") + n: ord(zero) + n for n in range(10)}
    for written in (f"{number:,}".replace(",", separator), str(number)):
        assert of_numbers(written.translate(digits), [str(number)]) == (1.0, "correct")


@pytest.mark.parametrize(
    "text",
    [
        *("The number is 1234567.", "12,34,567", "१२,३४,५६७", "**1234567**", "1. 1234567"),
        *("1) 1,234,567 and that is 1 number", "1234567, 1234567", "12\u200b34567"),
        *("Inga andra: 1234567", "0" * 5000 + "1234567"),
    ],
)
def test_what_stands_beside_a_number_changes_nothing(text):
    assert of_numbers(text) == (1.0, "correct")


@pytest.mark.parametrize(
    "text",
    [
        "1234567, 2345678, 3456789, 4567890",
        "1234567,2345678,3456789,4567890",
        "1,234,567, 2,345,678, 3,456,789 and 4,567,890",
        "1,234,567,2,345,678,3,456,789,4,567,890",
        "1 234 567 2 345 678 3 456 789 4 567 890",
        "1. 1234567\n2. 2345678\n3. 3456789\n4. 4567890",
        "1.1234567\n2.2345678\n3.3456789\n4.4567890",
        "1234567、2345678、3456789、4567890",
        "۱۲۳۴۵۶۷، ۲۳۴۵۶۷۸، ۳۴۵۶۷۸۹، ۴۵۶۷۸۹۰",
        "4567890 3456789 2345678 1234567",
        "1234567 2345678 3456789 4567890",
        "<answer>1234567</answer>\n<answer>2345678</answer>, <answer>3456789</answer>"
        "\n<answer>4567890</answer>",
    ],
)
def test_lists_of_numbers(text):
    assert of_numbers(text, FOUR) == (1.0, "correct")


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("1234567, 2345678 and 3456789", "partial:3/4"),
        ("1234567 2345678 3456789 4567890 9999999", "partial:4/4+1"),
        *(("9999999", "wrong_number"), ("none", "none_error")),
        *(("None of the numbers is mentioned.", "none_error"), ("I cannot say.", "no_number")),
        *(("It is nonesuch.", "no_number"), ("7", "no_number"), ("<answer></answer>", "no_number")),
        *(("12345678", "wrong_number"), ("123456", "wrong_number")),
    ],
)
def test_why_numbers_are_wrong(text, verdict):
    assert of_numbers(text, FOUR) == (0.0, verdict)


def test_an_answer_tag_is_read_and_nothing_else():
    said = "In chapter 12 it is 2345678, no: <Answer> 1234567 </Answer> See page 100."
    assert of_numbers(said) == (1.0, "correct")
    assert of_numbers(f"<answer>2345678</answer> Wrong. {said}") == (1.0, "correct")
    assert of_numbers("<answer>1234567</answer> or rather <answer>2345678</answer>")[0] == 0
    assert of_numbers("so 2345678? <Svar> 1234567", lang="sv") == (1.0, "correct")
    assert of_numbers("<ＡＮＳＷＥＲ>1234567</ＡＮＳＷＥＲ> 88") == (1.0, "correct")
    assert of_numbers("<b>2345678</b>, <b>1234567</b>", ["1234567", "2345678"])[0] == 1
    assert of_numbers("<Question>2345678</Question> 1234567") == (0.0, "partial:1/1+1")
    # Without any closed tag, the last opened one counts.
    assert of_numbers("99 <Answer> 1234567") == (1.0, "correct")
    assert of_numbers("<Answer> 99 or <Answer> 1234567") == (1.0, "correct")
    assert of_numbers("1234567 </Answer>") == (1.0, "correct")


@pytest.mark.parametrize("cut", ["<Answer> 123", "<Answer>", "<Answer> 1234567", "<answer>\n99,8"])
def test_an_answer_said_again_and_cut_is_read_once(cut):
    said = "<Answer> 1234567 </Answer>"
    assert of_numbers(f"{said}\n{cut}") == (1.0, "correct")
    assert of_numbers(f"{said} The text says so. {cut}") == (1.0, "correct")
    assert of_numbers(f"{said} No: <answer>7654321</answer> {cut}") == (0.0, "wrong_number")
    four = "".join(f"<Answer>{number}</Answer>\n" for number in FOUR)
    assert of_numbers(four + cut, FOUR) == (1.0, "correct")


def test_numbers_are_no_none_and_languages_need_words() -> None:
    for lang in LANGS:
        assert strict.score_none("1234567", NONE_WORDS[lang]) == (0.0, "wrong_number")
        assert strict.score_none("???", NONE_WORDS[lang]) == (0.0, "no_number")
    check(LANGS, {})
    check(["en", "eu"], {"eu": ["bat ere ez"]})
    with pytest.raises(UserError, match="none_words has no words for the language 'eu'"):
        check(["en", "eu"], {})


@pytest.mark.parametrize(
    ("lang", "text", "verdict"),
    [
        *(("en", "nonetheless", "no_number"), ("sv", "ingalunda", "no_number")),
        *(("zh", "答案：无", "correct"), ("ja", "無", "correct"), ("ja", "無理です", "no_number")),
        *(("ko", "끝없음", "no_number"), ("ko", "없음입니다", "correct")),
        *(("vi", "KHÔNG CÓ số nào", "correct"), ("vi", "Kho\u0302ng co\u0301", "correct")),
    ],
)
def test_what_says_none(lang, text, verdict):
    assert strict.score_none(text, NONE_WORDS[lang]) == (float(verdict == "correct"), verdict)


TEN = "art car wheel party Straße tree house ship bread-knife o'clock".split()


@pytest.mark.parametrize(
    "text",
    [
        *(", ".join(TEN), " ".join(f"{i}. {word}" for i, word in enumerate(TEN, 1))),
        "\n".join(f"- **{word.upper()}** (30 times)" for word in TEN),
        "\n".join(f"{i}.{word}" for i, word in enumerate(reversed(TEN), 1)),
        *("The words are " + "/".join(TEN) + ".", "`" + "`, `".join(TEN) + "`"),
        "| " + " | 30 |\n| ".join(TEN) + " | 30 |",
    ],
)
def test_ten_words_in_any_layout(text):
    assert strict.score_words(text, TEN) == (1.0, "correct")


def test_words_stand_for_themselves_in_every_script() -> None:
    others = [word for word in TEN if word not in ("art", "car", "wheel")]
    assert strict.score_words(", ".join(["cartwheel", *others]), TEN) == (0.0, "partial:7/10")
    assert strict.score_words("knife, bread", ["bread-knife", "bread"]) == (0.0, "partial:1/2")
    assert strict.score_words("ein Tor", ["tree"]) == (0.0, "wrong_words")
    assert strict.score_words("-?-", ["-"]) == (0.0, "wrong_words")
    assert strict.score_words("công ty, ác", ["công ty", "ác", "công"]) == (0.0, "partial:2/3")
    assert strict.score_words("công, công ty, ác", ["công", "công ty", "ác"]) == (1.0, "correct")
    # Taking one word out makes no new neighbours.
    assert strict.score_words("công ty công", ["công ty", "ty công"])[1] == "partial:1/2"
    words = ["いい; よい", "アイデア", "Tシャツ", "足"]
    for text in (
        "単語は足、アイデア、いい; よい、Ｔシャツです。",
        "アイデアと足、いい; よい、Ｔシャツ",
    ):
        assert strict.score_words(text, words) == (1.0, "correct")
    assert strict.score_words("足元、アイデア、いい、Tシャツ", words)[1] == "partial:2/4"
    assert strict.score_words("नाना-नानी, अच्छा", ["नाना-नानी", "अच्छा"]) == (1.0, "correct")
    assert strict.score_words("नाना-नानी", ["नाना"]) == (0.0, "wrong_words")
    assert strict.score_words("अच्छाई", ["अच्छा"]) == (0.0, "wrong_words")
    assert strict.score_words("அகதிகள்", ["அகதி"]) == (0.0, "wrong_words")
    assert strict.score_words("می‌خواهم", ["میخواهم"]) == (1.0, "correct")


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        *(("人民、进行、说、是", "correct"), ("1.人民 2.进行 3.说 4.是", "correct")),
        *(
            ("答案：列表中最常出现的词语是人民、进行、说、是。", "correct"),
            ("人民进行说是", "correct"),
        ),
        *(
            ("人民30次，进行30次，说30次，是30次等", "correct"),
            ("人民、进行、小说、是", "partial:3/4"),
        ),
        *(
            ("老人民、进行、说、是", "partial:3/4"),
            ("最常见的词包括人民、进行、说和是。", "correct"),
        ),
        *(
            ("最常见的词有：人民、进行，以及说与是", "correct"),
            ("出现最多的词语有人民和进行、说、是", "correct"),
        ),
        *(("人民和平、进行、说、是", "partial:3/4"), ("说和人民和平、进行、是", "partial:2/4")),
    ],
)
def test_words_of_a_script_without_spaces(text, verdict):
    assert strict.score_words(text, ["人民", "进行", "说", "是"])[1] == verdict


@pytest.mark.parametrize("lang", ["zh", "ja"])
def test_what_joins_words_breaks_no_word(mirror, lang):
    """No word is found in another one that holds a joint or a copula, and each is found by itself."""
    table = factories.oneruler.tables(mirror, {"words": [("oneruler_words", lang)]})["words"][lang]
    words = table["word"].to_pylist()
    known, joints = set(words), "以及|[和与與及と]|[是为為は]|包括|包含|有"
    holding = [word for word in words if re.search(joints, word)]
    assert len(holding) > 20
    for word in holding:
        assert strict.score_words(word, [word]) == (1.0, "correct")
        parts = [
            part
            for found in re.finditer(joints, word)
            for part in (word[: found.start()], word[found.end() :])
            if part in known
        ]
        assert all(strict.score_words(word, [part])[0] == 0 for part in parts), (word, parts)


def test_the_released_rules_and_their_false_verdicts() -> None:
    words = scores.NONE_WORDS["en"]
    assert scores.score_numbers("It is 1234567 (1 time).", ONE, words) == (1.0, "correct")
    assert scores.score_numbers("2345678", ONE, words) == (0.0, "wrong_number")
    assert scores.score_numbers("none", ONE, words) == (0.0, "none_word")
    assert scores.score_numbers("?", ONE, words) == (0.0, "no_number")
    assert scores.score_numbers("٧٧ ١٢٣", ["123", "77"], words) == (1.0, "correct")
    assert scores.score_none("None.", words) == (1.0, "correct")
    assert scores.score_none("1234567", words) == (0.0, "no_none_word")
    assert scores.score_words("CAR, art", ["art", "Car "]) == (1.0, "correct")
    assert scores.score_words("car", ["art", "car"]) == (0.0, "partial:1/2")
    # Grouped digits, a none beside the right number, zeros that make it another.
    assert scores.score_numbers("1,234,567", ONE, ("none",)) == (0.0, "wrong_number")
    said = "1234567, inga andra"
    assert scores.score_numbers(said, ONE, scores.NONE_WORDS["sv"]) == (0.0, "none_word")
    assert of_numbers(said, lang="sv") == (1.0, "correct")
    assert scores.score_numbers("01234567 1234567", ONE, ("none",)) == (0.0, "wrong_number")
    # Capital letters in the answer, or a space in the word: the rule looks for two spellings only.
    assert scores.score_numbers("None other than 1234567", ONE, ("none",)) == (1.0, "correct")
    assert scores.score_numbers("keinevorhanden 1234567", ONE, ("Keine vorhanden",))[0] == 0
    assert scores.score_numbers("keine vorhanden 1234567", ONE, ("Keine vorhanden",))[0] == 1
    # A number beside none.
    said = "The number is 1234567, none other"
    assert scores.score_none(said, ("none",)) == (1.0, "correct")
    assert strict.score_none(said, NONE_WORDS["en"]) == (0.0, "wrong_number")
    # They count within others, and in their own Unicode form alone.
    assert scores.score_words("cartwheel party", ["art", "car"]) == (1.0, "correct")
    assert strict.score_words("cartwheel party", ["art", "car"]) == (0.0, "wrong_words")
    assert scores.score_words("Re\u0301ponse", ["réponse"]) == (0.0, "partial:0/1")
    assert strict.score_words("Re\u0301ponse", ["réponse"]) == (1.0, "correct")
    said = "Was it 99? <Answer>1234567</Answer>"
    assert scores.answer(said, "Deepseek-R1") == "<Answer>1234567</Answer>"
    assert scores.answer("<Answer>\n1</Answer>", "deepseek") == "<Answer>\n1</Answer>"
    assert scores.answer(f"{said}\n<answer>", "mistral") == f"{said}\n<answer>"


@pytest.fixture(scope="module")
def released_data(mirror):
    return mirror / "oneruler" / "OneRuler" / "data"


@pytest.mark.parametrize("lang", LANGS)
def test_the_prompts_own_words_and_tags(released_data, lang):
    prompts = json.loads((released_data / "prompt" / lang / "niah.txt").read_text("utf-8"))
    word = prompts["none"]
    assert strict.score_none(word, NONE_WORDS[lang]) == (1.0, "correct")
    assert scores.score_none(word, scores.NONE_WORDS[lang]) == (1.0, "correct")
    form = prompts["answer_numbers"]
    inside = form[form.index(">") + 1 : form.rindex("<")]
    assert strict.answer(f"99 {form} 88", ANSWER_TAGS).strip() == inside.strip()
    filled = form.replace(inside, "1234567, 2345678")
    assert of_numbers(f"99 {filled} 88", ["2345678", "1234567"], lang) == (1.0, "correct")
    text = (released_data / "prompt" / lang / "cwe.txt").read_text("utf-8").strip()
    tag = text[text.rindex("</") + 2 :].rstrip(">").strip()
    assert strict.answer(f"a <{tag}> b </{tag}>", ANSWER_TAGS).strip() == "b"


def test_real_words_are_found_and_missed(released_data):
    files = sorted((released_data / "vocab" / "dictionaries").glob("*/*.csv"))
    assert len(files) == 25
    for file in files:
        with open(file, encoding="utf-8", newline="") as rows:
            kept = ("noun", "adjective", "verb")
            words = dict.fromkeys(
                row["words"]
                for row in csv.DictReader(rows)
                if row["pos"] in kept and not any(c.isdigit() for c in row["words"])
            )
        words = list(words)
        for start in range(0, len(words) - 11, len(words) // 20):
            ten, other = words[start : start + 10], words[start + 10]
            listed = " ".join(f"{i}. {word}" for i, word in enumerate(ten, 1))
            assert strict.score_words(listed, ten) == (1.0, "correct"), (file.name, ten)
            one_off = ", ".join([*ten[:9], other])
            # Words that differ in case alone (Sesotho has 11) are found together, and Vietnamese
            # syllables in the words that are made of them.
            if f" {ten[9]} ".casefold() in f" {one_off} ".replace(",", " ").casefold():
                continue
            assert strict.score_words(one_off, ten) == (0.0, "partial:9/10"), (file.name, ten)


@pytest.mark.parametrize("digit", ["7", "०", "٣"])
def test_more_digits_than_python_converts_are_a_wrong_number(digit):
    """A model that repeats itself once failed the scores of all its answers."""
    many = digit * 5000
    assert of_numbers(f"1234567 {many}") == (0.0, "partial:1/1+1")
    assert strict.score_none(many, ()) == (0.0, "wrong_number")
    released = scores.score_numbers(f"{many} 1234567", ONE, ("none",))
    assert released == (0.0, "wrong_number")
