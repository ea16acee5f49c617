"""ONERULER's tables: those of the released files, of the sample, and of a language that a user adds."""

from __future__ import annotations

import json
import re
import shutil
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
import yaml

from needlework.benchmarks.oneruler import corpus as oneruler
from needlework.benchmarks.oneruler import niah
from needlework.data import sentences
from needlework.data.corpora.books import BOOKS
from needlework.data.corpora.registry import folder_languages, languages_of
from needlework.data.language_names import LANGUAGE_NAMES
from needlework.data.registry import Source, load_registry
from needlework.errors import UserError
from needlework.planning.config import validated
from needlework.planning.layout import Layout

LANGUAGES = languages_of("oneruler_books")
SAMPLE = languages_of("sample_books")
PARTS = ("books", "nouns", "words", "prompts")
ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(scope="module")
def source(root) -> Source:
    return load_registry(root / "resources" / "sources.yaml")["oneruler"]


@pytest.fixture(scope="module")
def released(mirror, source):
    """Reads a corpus from the released files, as the workflow does."""

    def read(part: str, lang: str) -> pa.Table:
        files = []
        if (part, lang) != ("words", "en"):
            files = [str(mirror / file.id) for file in source.of(lang, part)]
        return oneruler.table(f"oneruler_{part}", lang, files, {})

    return read


def folder_files(folder: Path, lang: str, part: str) -> list[str]:
    """The files of a user's own language, as the workflow finds them."""
    layout = Layout({"corpora": {}, "sources": {"oneruler": {"folder": str(folder)}}})
    return layout.corpus_sources(f"oneruler_{part}", lang)


# The released files


def test_the_registry_has_every_file_of_every_language(source):
    assert source.languages == sorted(LANGUAGES)
    for lang in LANGUAGES:
        files = {part: source.of(lang, part) for part in PARTS if (part, lang) != ("words", "en")}
        assert {part: len(found) for part, found in files.items()} == {
            part: 2 if part == "prompts" else 1 for part in files
        }
    assert all(file.url.isascii() and source.revision in file.url for file in source.files)
    assert len(source.files) == 1 + 26 + 2 * 26 + 25


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_released_book(released, lang):
    table = released("books", lang)
    assert table.schema == BOOKS
    (row,) = table.to_pylist()
    text, starts = row["text"], row["sentence_starts"]
    joiner = "" if lang in ("ja", "zh") else " "
    assert starts[0] == 0 and starts == sorted(set(starts))
    ends = [start - len(joiner) for start in starts[1:]] + [len(text)]
    found = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    assert joiner.join(found) == text
    assert all(sentence and sentence == sentence.strip() for sentence in found)
    assert len(found) > 250
    assert not re.search(r"\s\s|[^\S ]", text)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_released_nouns_are_those_that_pandas_reads(released, mirror, lang):
    table = released("nouns", lang)
    assert table.schema == oneruler.NOUNS
    path = mirror / "oneruler/OneRuler/data/vocab/100_noun_list_translated.tsv"
    expected = pd.read_csv(path, sep="\t")[lang].str.strip().tolist()
    assert table["noun"].to_pylist() == expected
    assert table["row"].to_pylist() == list(range(100))


# Counted by the released code's rules with pandas; English from wonderwords 2.2.0.
WORDS = {
    "cs": 8191,
    "da": 7065,
    "de": 9179,
    "en": 8169,
    "es": 5498,
    "fa": 4688,
    "fi": 9076,
    "fr": 7546,
    "hi": 7353,
    "hu": 5525,
    "it": 8108,
    "ja": 6333,
    "ko": 2605,
    "nl": 7703,
    "no": 8481,
    "pl": 8328,
    "pt": 7617,
    "ru": 7944,
    "sr": 4827,
    "st": 2104,
    "sv": 8940,
    "sw": 2237,
    "ta": 2640,
    "uk": 9029,
    "vi": 6254,
    "zh": 2173,
}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_released_words_are_those_that_the_released_code_takes(released, mirror, source, lang):
    if lang == "en":
        pytest.importorskip("wonderwords")
    table = released("words", lang)
    assert table.schema == oneruler.WORDS
    words = table["word"].to_pylist()
    assert words == sorted(set(words)) and len(words) == WORDS[lang]
    assert set(table["pos"].to_pylist()) <= set(oneruler.PARTS_OF_SPEECH)
    if lang == "en":
        assert {"apple", "quiet", "run"} <= set(words)
        return
    rows = pd.read_csv(mirror / source.of(lang, "words")[0].id, dtype={"words": str})
    rows = rows.dropna(subset=["words"])
    rows = rows[~rows["words"].str.contains(r"\d", regex=True)]
    usable = rows[rows["pos"].isin(oneruler.PARTS_OF_SPEECH)]
    assert set(words) == set(usable["words"].str.strip())


@pytest.mark.parametrize("lang", LANGUAGES)
def test_released_prompts(released, mirror, lang):
    table = released("prompts", lang)
    assert table.schema == oneruler.PROMPTS
    texts = dict(zip(table["key"].to_pylist(), table["text"].to_pylist(), strict=True))
    assert list(texts) == [*oneruler.NIAH_KEYS, "cwe"]
    folder = mirror / "oneruler/OneRuler/data/prompt" / lang
    assert texts.pop("cwe") == (folder / "cwe.txt").read_bytes().decode()
    assert texts.items() <= json.loads((folder / "niah.txt").read_bytes()).items()


def test_the_vietnamese_list_of_words_stands_twice(released):
    texts = {row["key"]: row["text"] for row in released("prompts", "vi").to_pylist()}
    assert texts["cwe"].count("{context}") == 2


def test_every_language_has_a_name():
    assert set(LANGUAGES) <= set(LANGUAGE_NAMES)


# The sample


@pytest.mark.parametrize("lang", SAMPLE)
def test_the_sample_has_the_same_layout(root, lang):
    folder = root / "resources/sample/oneruler"
    tables = {
        part: oneruler.table(f"sample_{part}", lang, folder_files(folder, lang, part), {})
        for part in PARTS
    }
    assert len(tables["books"]["sentence_starts"][0]) >= 20
    assert {len(table) for part, table in tables.items() if part != "books"} >= {10}
    assert len(set(tables["nouns"]["noun"].to_pylist())) >= oneruler.LEAST_NOUNS
    assert len(tables["words"]) >= 100


def test_the_sample_is_declared_as_it_is(root):
    assert folder_languages(str(root / "resources/sample/oneruler")) == sorted(SAMPLE)


# A 27th language: Esperanto

NIAH = {
    "task": "Legu la tekston.\n\n<teksto>\n{context}\n</teksto>\n\n",
    "needle_numbers": "La speciala nombro de “{key}” estas: {value}",
    "question_single_numbers": "<Demando> Kiuj nombroj apartenas al “{query1}”?",
    "question_multi_numbers": "<Demando> Kiuj nombroj apartenas al “{query1}” kaj “{query2}”?",
    "please_list": "Listigu ĉiujn.",
    "if_no_numbers": "Se ne estas tia nombro, respondu “neniu”.</Demando>\n\n\n",
    "answer_prefix": "Respondu tiel:\n",
    "answer_numbers": "<Respondo> ĉiuj nombroj </Respondo>",
    "none": "neniu",
}
BOOK = (
    "S-ro. Zamora venis je la 3. Majo. “Ĉu vi venas?” ŝi demandis. Li ridis… Jes!\n\nKaj ili iris."
)
NOUNS = "en\tdefinition\teo\napple\ta fruit\tpomo \ncat\tan animal\tkato\nsun\ta star\tsuno\n" + (
    "moon\t\t\nhand\ta part\tmano\nhouse\ta place\tdomo\n"
)
POS = ("noun", "adjective", "verb", "other")


@pytest.fixture
def own(tmp_path) -> Path:
    """A user's folder with one language."""
    folder = tmp_path / "my_languages"
    (folder / "eo").mkdir(parents=True)
    (folder / "nouns.tsv").write_text(NOUNS, encoding="utf-8")
    (folder / "eo/book.txt").write_text(BOOK, encoding="utf-8")
    (folder / "eo/niah.json").write_text(json.dumps(NIAH, ensure_ascii=False), encoding="utf-8")
    (folder / "eo/cwe.txt").write_text("Jen vortoj.\n<Listo> {context} </Listo>", encoding="utf-8")
    lines = [f"vorto{chr(97 + i)},{POS[i % 4]}" for i in range(20)]
    (folder / "eo/words.csv").write_text("words,pos\n" + "\n".join(lines), encoding="utf-8")
    return folder


def read_own(folder: Path, part: str) -> pa.Table:
    return oneruler.table(f"oneruler_{part}", "eo", folder_files(folder, "eo", part), {})


def sentences_of(table: pa.Table) -> list[str]:
    (row,) = table.to_pylist()
    starts = [*row["sentence_starts"], len(row["text"]) + 1]
    return [row["text"][a : b - 1] for a, b in pairwise(starts)]


def test_a_further_language(own):
    assert folder_languages(str(own)) == ["eo"]
    assert sentences_of(read_own(own, "books")) == [
        "S-ro.",
        "Zamora venis je la 3. Majo.",
        "“Ĉu vi venas?” ŝi demandis.",
        "Li ridis…",
        "Jes!",
        "Kaj ili iris.",
    ]
    assert read_own(own, "nouns").to_pylist() == [
        {"row": 0, "noun": "pomo"},
        {"row": 1, "noun": "kato"},
        {"row": 2, "noun": "suno"},
        {"row": 4, "noun": "mano"},  # a row without the language is left out, and keeps its number
        {"row": 5, "noun": "domo"},
    ]
    assert len(read_own(own, "words")) == 15
    prompts = read_own(own, "prompts").to_pylist()
    assert {row["key"]: row["text"] for row in prompts} == {
        **NIAH,
        "cwe": "Jen vortoj.\n<Listo> {context} </Listo>",
    }


def written_nouns(own: Path, text: str) -> list[tuple[int, str]]:
    (own / "nouns.tsv").write_text(text, encoding="utf-8")
    return [(row["row"], row["noun"]) for row in read_own(own, "nouns").to_pylist()]


@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
@pytest.mark.parametrize("empty", ["", "\t", "\t\t", " \t ", " "])
def test_an_empty_row_keeps_its_number(own, empty, end):
    """So that a question in another language asks for the same noun."""
    rows = ["a\tA", "b\tB", empty, "c\tC", "d\tD", "", "e\tE"]
    text = "\n".join(["en\teo", *rows]) + end
    expected = [(0, "A"), (1, "B"), (3, "C"), (4, "D"), (6, "E")]
    assert written_nouns(own, text) == expected
    assert written_nouns(own, text.replace("\n", "\r\n")) == expected


def test_an_empty_row_of_a_single_column_keeps_its_number(own):
    nouns = written_nouns(own, "eo\nA\n\nB\nC\n\n\nD\nE\n\n")
    assert nouns == [(0, "A"), (2, "B"), (3, "C"), (6, "D"), (7, "E")]


REPEATED = "eo\npomo\nkato\n\nsuno\nPomo\nmano\ndomo\npomo\n"


def test_the_log_names_nouns_that_two_rows_share(tmp_path, caplog):
    caplog.set_level("INFO")
    file = tmp_path / "100_noun_list_translated.tsv"
    file.write_text(REPEATED, encoding="utf-8")
    assert len(oneruler.table("oneruler_nouns", "eo", [str(file)], {})) == 7
    said = f"{file}, eo: 5 different nouns of 7"
    again = " (again: 'Pomo' in lines 2 and 6, 'pomo' in lines 2 and 9)"
    assert caplog.messages == [f"reading {file}", said + again]


def test_the_released_list_has_nouns_in_two_places(mirror):
    path = mirror / "oneruler/OneRuler/data/vocab/100_noun_list_translated.tsv"
    tables = {lang: oneruler.nouns(lang, [path]) for lang in ("en", "fr")}
    assert niah.nouns(tables, "fr", "fr").left_out == ["row 79 'fête'"]
    left_out = niah.nouns(tables, "en", "fr").left_out
    assert len(left_out) == len(niah.AMBIGUOUS_NOUNS) + 2
    assert "row 40 'fête' (en 'holiday')" in left_out and "row 79 'fête' (en 'party')" in left_out


@pytest.mark.parametrize(
    ("text", "line", "other"),
    [
        (REPEATED, 2, "line 6 of the column 'eo'"),
        # Another language of the folder, whose row means something else.
        ("eo\thyw\na\tv\nb\tw\nc\tx\nd\ty\ne\tA\n", 2, "line 6 of the column 'hyw'"),
    ],
)
def test_an_ambiguous_noun_of_a_user_s_list(own, text, line, other):
    (own / "hyw").mkdir()
    (own / "nouns.tsv").write_text(text)
    refused(own, "nouns", rf"nouns\.tsv: the noun '\w+' of the column 'eo' stands in line {line}, "
            rf"and in {other}: .* two answers")  # fmt: skip


def test_a_noun_shared_by_one_row_is_no_duplicate(own):
    """And a column whose language is not read from this list may have what it will."""
    (own / "hyw").mkdir()
    nouns = "eo\thyw\tfr\na\tA\tx\nb\tw\ta\nc\tx\tb\nd\ty\tz\ne\tz\tz\n"
    assert len(written_nouns(own, nouns)) == 5


def test_the_configuration_that_the_page_shows(root, own, monkeypatch):
    page = (root / "docs/adding-a-language.md").read_text("utf-8")
    (block,) = re.findall(r"^```\n(sources:.*?)^```", page, flags=re.M | re.S)
    config = yaml.safe_load((root / "config.yaml").read_text("utf-8"))
    shown = yaml.safe_load(block)
    config["run"]["benchmarks"] = ["oneruler"]
    config["sources"] = shown["sources"]
    config["benchmarks"]["oneruler"] |= shown["benchmarks"]["oneruler"]
    monkeypatch.chdir(own.parent)
    assert validated(config)["sources"]["oneruler"]["folder"] == own.name
    settings = Layout(validated(config)).run_settings("oneruler", "scores")
    assert settings["instructions"] == ["eo"]
    shutil.rmtree(own / "eo")
    with pytest.raises(UserError, match="unknown language 'eo'"):
        validated(config)


def test_a_further_language_says_what_is_its_own(own):
    rules = own / "eo/sentences.json"
    rules.write_text('{"abbreviations": ["s-ro."]}')
    assert sentences_of(read_own(own, "books"))[0] == "S-ro. Zamora venis je la 3. Majo."
    rules.write_text('{"joiner": ""}')
    (own / "eo/book.txt").write_text("甲来了。　乙走了。\n丙 在。", encoding="utf-8")
    (row,) = read_own(own, "books").to_pylist()
    assert row["text"] == "甲来了。乙走了。丙 在。"
    assert row["sentence_starts"] == [0, 4, 8]


def test_a_byte_order_mark_is_dropped(own):
    for file in [own / "nouns.tsv", *(own / "eo").iterdir()]:
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert sentences_of(read_own(own, "books"))[0] == "S-ro."
    assert read_own(own, "nouns")["noun"].to_pylist()[0] == "pomo"
    assert len(read_own(own, "words")) == 15
    texts = {row["key"]: row["text"] for row in read_own(own, "prompts").to_pylist()}
    assert texts["cwe"].startswith("Jen")


def test_several_books_follow_one_another(own):
    (own / "eo/more.txt").write_text("Du libroj. Fino.")
    files = [str(own / "eo/book.txt"), str(own / "eo/more.txt")]
    found = sentences_of(oneruler.table("oneruler_books", "eo", files, {}))
    assert found[-3:] == ["Kaj ili iris.", "Du libroj.", "Fino."]


# Bad input: file, language and key


def refused(own: Path, part: str, pattern: str) -> None:
    with pytest.raises(UserError, match=pattern):
        read_own(own, part)


@pytest.mark.parametrize("text", ["", " \n ", "Nur unu frazo.", "sen punkto kaj fino", "***"])
def test_a_book_too_short(own, text):
    (own / "eo/book.txt").write_text(text)
    refused(own, "books", r"book\.txt: the book in 'eo' has [01] sentences, but needles stand")


@pytest.mark.parametrize("part", PARTS)
def test_not_utf_8(own, part):
    file = Path(folder_files(own, "eo", part)[0])
    file.write_bytes(file.read_text(encoding="utf-8").encode("utf-16"))
    refused(own, part, rf"{file.name} is not in UTF-8: save it")


def test_prompts_of_needles_alone_need_no_list_of_words(own) -> None:
    (own / "eo/cwe.txt").unlink()
    table = oneruler.prompts("eo", [own / "eo/niah.json"])
    assert set(table["key"].to_pylist()) == set(oneruler.NIAH_KEYS)


@pytest.mark.parametrize(
    ("part", "file", "what"),
    [
        ("books", "eo/book.txt", "no book for the language 'eo'"),
        ("nouns", "nouns.tsv", "no list of nouns for the language 'eo'"),
        ("words", "eo/words.csv", "no dictionary for the language 'eo'"),
        ("prompts", "eo/niah.json", "no prompts .* for the language 'eo'"),
    ],
)
def test_a_missing_file(own, part, file, what, caplog):
    """Planning names the folder; so does the reader, where another file of the part is there."""
    config = yaml.safe_load((ROOT / "config.yaml").read_text("utf-8"))
    config["run"]["benchmarks"] = ["oneruler"]
    config["sources"] = {"oneruler": {"folder": str(own)}}
    config["benchmarks"]["oneruler"] |= {
        **{"data": "oneruler", "languages": ["eo"], "cross_lingual": []},
        "none_words": {"eo": ["neniu"]},
    }
    validated(config)
    (own / file).unlink()
    with pytest.raises(UserError, match=rf"sources\.oneruler\.folder: {own}/{file} is missing"):
        validated(config)
    folder = own if part == "prompts" else r"the folder of sources\.oneruler\.folder"
    caplog.set_level("INFO")
    refused(own, part, rf"{what}: {file} is missing in {folder}")
    assert all(message.removeprefix("reading ") for message in caplog.messages)
    if part in ("words", "books"):
        task = "niah_single" if part == "words" else "cwe_easy"
        config["benchmarks"]["oneruler"]["tasks"] = [task]
        validated(config)


@pytest.mark.parametrize("key", oneruler.NIAH_KEYS)
def test_a_missing_key(own, key):
    texts = {name: text for name, text in NIAH.items() if name != key}
    (own / "eo/niah.json").write_text(json.dumps(texts))
    refused(own, "prompts", rf"niah\.json: the key '{key}' for 'eo' is missing: add it")


@pytest.mark.parametrize(
    ("key", "text", "what"),
    [
        ("task", "{contexts}", r"'task' for 'eo' has the unknown placeholder \{contexts\}"),
        ("task", "no text", r"'task' for 'eo' lacks the placeholder \{context\}"),
        ("task", "{context}{context}", r"'task' .* \{context\} 2 times: keep one"),
        ("task", "{context} {", r"'task' .* a brace that does not belong to a placeholder"),
        ("task", "{context} {{x}}", r"'task' .* a doubled brace"),
        ("task", "{context.__class__}", r"unknown placeholder \{context\.__class__\}"),
        ("task", "{context!r}", r"unknown placeholder \{context!r\}"),
        ("task", "{context:>9}", r"unknown placeholder"),
        ("task", "{}", r"unknown placeholder \{\}"),
        ("needle_numbers", "{key}", r"'needle_numbers' for 'eo' lacks the placeholder \{value\}"),
        ("question_multi_numbers", "{query1}", r"lacks the placeholder \{query2\}"),
        ("please_list", "{key}", r"unknown placeholder \{key\}: it takes no placeholder"),
        ("none", " ", r"niah\.json: 'none' for 'eo' is empty or not a text"),
        ("none", ["neniu"], r"niah\.json: 'none' for 'eo' is empty or not a text"),
        ("non", "neniu", r"niah\.json: the unknown key 'non' for 'eo'"),
    ],
)
def test_a_wrong_text(own, key, text, what):
    (own / "eo/niah.json").write_text(json.dumps({**NIAH, key: text}))
    refused(own, "prompts", what)


@pytest.mark.parametrize("text", ["Jen: {words}", "Jen.", "", "{context"])
def test_a_wrong_template(own, text):
    (own / "eo/cwe.txt").write_text(text)
    refused(own, "prompts", r"cwe\.txt: the prompt for 'eo' (has|lacks|is empty)")


@pytest.mark.parametrize(("text", "what"), [("{", "not valid JSON"), ("[]", "not a JSON object")])
def test_prompts_that_are_no_json(own, text, what):
    (own / "eo/niah.json").write_text(text)
    refused(own, "prompts", rf"niah\.json for 'eo' is {what}")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("en\tfr\na\tb\n", r"nouns\.tsv has no column 'eo': give it one; it has en, fr"),
        ("", r"nouns\.tsv has no column 'eo'"),
        ("eo\teo\na\tb\n", r"nouns\.tsv has several columns 'eo'"),
        ("eo\n" + "pomo\nPomo\n" * 10, r"the column 'eo' has 1 different nouns, but .* 5"),
        (
            "eo\na\nb\n\nc\nB\nd\n",
            r"has 4 different nouns, but the tasks need 5 \(again: 'B' in lines 3 and 6\): add some",
        ),
        ("eo\ten\n" + "\tapple\n" * 10, r"the column 'eo' has 0 different nouns"),
    ],
)
def test_wrong_nouns(own, text, what):
    (own / "nouns.tsv").write_text(text)
    refused(own, "nouns", what)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("word,pos\na,noun\n", r"words\.csv: the dictionary in 'eo' has no column 'words'"),
        ("words;pos\na;noun\n", r"words\.csv: the dictionary in 'eo' has no column 'words'"),
        ("", r"no column 'words'"),
        (
            "words,pos\n" + "a,noun\nb2,noun\nc,adverb\nd\n,noun\n" * 9,
            r"words\.csv: the dictionary in 'eo' has 1 usable words .* need 11",
        ),
        (
            "words,pos\n" + "x" * 200_000 + ",noun\n",
            r"words\.csv: the dictionary in 'eo' is not valid CSV",
        ),
    ],
)
def test_wrong_words(own, text, what):
    (own / "eo/words.csv").write_text(text)
    refused(own, "words", what)


@pytest.mark.parametrize("short", ["noun", "noun,", "noun, ", "verb,,", ""])
def test_a_short_row_of_a_dictionary_is_no_word(own, short):
    rows = [f"noun,vorto{chr(97 + i)}" for i in range(11)]
    (own / "eo/words.csv").write_text("\n".join(["pos,words", *rows[:5], short, *rows[5:]]))
    assert len(read_own(own, "words")) == 11


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"joiner": "-"}', r"sentences\.json: `joiner` for 'eo' is '-'"),
        ('{"abbreviations": "k.t.p."}', r"`abbreviations` for 'eo' is not a list"),
        ('{"stops": []}', r"unknown key 'stops' for 'eo'"),
    ],
)
def test_wrong_rules(own, text, what):
    (own / "eo/sentences.json").write_text(text)
    refused(own, "books", what)


def test_a_folder_that_is_not_there(own):
    assert folder_languages(None) == []
    shutil.rmtree(own)
    with pytest.raises(UserError, match=r"sources\.oneruler\.folder: .* is not a folder"):
        folder_languages(str(own))


def test_a_language_of_the_sample_needs_its_dictionary_too():
    with pytest.raises(UserError, match="no dictionary for the language 'zh'"):
        oneruler.table("sample_words", "zh", [], {})


def test_the_joiners_of_the_released_code():
    without = {lang for lang in LANGUAGES if sentences.rules(lang).joiner == ""}
    assert without == {"ja", "zh"}
