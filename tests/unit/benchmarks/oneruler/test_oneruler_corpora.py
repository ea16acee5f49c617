"""ONERULER's tables: those of the released files, of the sample, and of a language that a user adds."""

from __future__ import annotations

import json
import re
import shutil
import unicodedata
from collections import Counter
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
import yaml

from factories import ROOT, configuration
from factories.oneruler import LANGUAGES, files, table
from needlework.benchmarks.oneruler import corpus as oneruler
from needlework.benchmarks.oneruler import niah
from needlework.benchmarks.oneruler.language_check import main
from needlework.data import sentences
from needlework.data.corpora.books import BOOKS
from needlework.data.corpora.registry import folder_languages, languages_of
from needlework.data.language_names import LANGUAGE_NAMES
from needlework.data.published_files import load_registry
from needlework.errors import UserError
from needlework.planning.config import validated
from needlework.planning.rule_inputs import RuleInputs

PARTS = ("books", "nouns", "words", "prompts")
SAMPLE = ROOT / "resources/sample/oneruler"


@pytest.fixture
def released(mirror: Path) -> Callable[[str, str], pa.Table]:
    return lambda part, lang: table(mirror, f"oneruler_{part}", lang)


def read_own(folder: Path, part: str) -> pa.Table:
    """A part of the language of a user's folder, whose files the workflow finds."""
    layout = RuleInputs({"corpora": {}, "sources": {"oneruler": {"folder": str(folder)}}})
    found = layout.corpora.sources(f"oneruler_{part}", "eo")
    return oneruler.table(f"oneruler_{part}", "eo", found, {})


def test_the_registry_has_every_file_of_every_language() -> None:
    source = load_registry(ROOT / "resources/sources.yaml")["oneruler"]
    assert source.languages == LANGUAGES == sorted(languages_of("oneruler_books"))
    assert set(LANGUAGES) <= set(LANGUAGE_NAMES)
    for lang in LANGUAGES:
        parts = [part for part in PARTS if (part, lang) != ("words", "en")]
        found = {part: len(source.of(lang, part)) for part in parts}
        assert found == {part: 2 if part == "prompts" else 1 for part in parts}
    assert all(file.url.isascii() and source.revision in file.url for file in source.files)
    assert len(source.files) == 1 + 26 + 2 * 26 + 25


@pytest.mark.parametrize("lang", ["en", "fa", "hi", "ja", "ko", "st", "uk", "zh"])
def test_a_released_book_is_whole_sentences_and_joints(released, lang: str) -> None:
    found = released("books", lang)
    assert found.schema == BOOKS
    (row,) = found.to_pylist()
    text, starts = row["text"], row["sentence_starts"]
    joiner = "" if lang in ("ja", "zh") else " "
    assert starts[0] == 0 and starts == sorted(set(starts)) and len(starts) > 250
    ends = [start - len(joiner) for start in starts[1:]] + [len(text)]
    sentences = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    assert joiner.join(sentences) == text and not re.search(r"\s\s|[^\S ]", text)
    assert all(sentence and sentence == sentence.strip() for sentence in sentences)


def test_released_nouns_and_prompts_are_read_as_they_are(released, mirror) -> None:
    (path,) = files(mirror, "oneruler_nouns", "en")
    expected = pd.read_csv(path, sep="\t")
    for lang in LANGUAGES:
        found = released("nouns", lang)
        assert found.schema == oneruler.NOUNS
        assert found["noun"].to_pylist() == expected[lang].str.strip().tolist()
        assert found["row"].to_pylist() == list(range(100))
    for lang in LANGUAGES:
        found = released("prompts", lang)
        assert found.schema == oneruler.PROMPTS
        texts = dict(zip(found["key"].to_pylist(), found["text"].to_pylist(), strict=True))
        assert list(texts) == [*oneruler.NIAH_KEYS, "cwe"]
        cwe, niah_file = (Path(file) for file in files(mirror, "oneruler_prompts", lang))
        # The Vietnamese list of words stands twice.
        assert texts["cwe"].count("{context}") == (2 if lang == "vi" else 1)
        assert texts.pop("cwe") == cwe.read_bytes().decode()
        assert texts.items() <= json.loads(niah_file.read_bytes()).items()
    tables = {lang: released("nouns", lang) for lang in ("en", "fr")}
    assert niah.nouns(tables, "fr", "fr").left_out == ["row 79 'fête'"]
    left_out = niah.nouns(tables, "en", "fr").left_out
    assert len(left_out) == len(niah.AMBIGUOUS_NOUNS) + 2
    assert "row 40 'fête' (en 'holiday')" in left_out and "row 79 'fête' (en 'party')" in left_out
    without = {lang for lang in LANGUAGES if sentences.rules(lang).joiner == ""}
    assert without == {"ja", "zh"}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_released_words_are_those_that_the_released_code_takes(released, mirror, lang) -> None:
    if lang == "en":
        pytest.importorskip("wonderwords")
    found = released("words", lang)
    assert found.schema == oneruler.WORDS
    words = found["word"].to_pylist()
    assert words == sorted(set(words))
    assert set(found["pos"].to_pylist()) <= set(oneruler.PARTS_OF_SPEECH)
    if lang == "en":
        # Of wonderwords 2.2.0.
        assert {"apple", "quiet", "run"} <= set(words) and len(words) == 8169
        return
    (path,) = files(mirror, "oneruler_words", lang)
    rows = pd.read_csv(path, dtype={"words": str}).dropna(subset=["words"])
    rows = rows[~rows["words"].str.contains(r"\d", regex=True)]
    usable = rows[rows["pos"].isin(oneruler.PARTS_OF_SPEECH)]
    assert set(words) == set(usable["words"].str.strip())


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
CWE = "Jen vortoj.\n<Listo> {context} </Listo>"
POS = ("noun", "adjective", "verb", "other")
OWN = {
    "nouns.tsv": "en\tdefinition\teo\napple\ta fruit\tpomo \ncat\tan animal\tkato\nsun\ta star\tsuno\n"
    "moon\t\t\nhand\ta part\tmano\nhouse\ta place\tdomo\n",
    "eo/book.txt": "S-ro. Zamora venis je la 3. Majo. “Ĉu vi venas?” ŝi demandis. Li ridis… Jes!\n\n"
    "Kaj ili iris.",
    "eo/niah.json": json.dumps(NIAH, ensure_ascii=False),
    "eo/cwe.txt": CWE,
    "eo/words.csv": "words,pos\n"
    + "\n".join(f"vorto{chr(97 + i)},{POS[i % 4]}" for i in range(20)),
}


@pytest.fixture
def own(tmp_path: Path) -> Path:
    folder = tmp_path / "my_languages"
    (folder / "eo").mkdir(parents=True)
    for name, text in OWN.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def sentences_of(found: pa.Table) -> list[str]:
    (row,) = found.to_pylist()
    starts = [*row["sentence_starts"], len(row["text"]) + 1]
    return [row["text"][a : b - 1] for a, b in pairwise(starts)]


def test_a_further_language_is_read_whatever_its_line_ends(own: Path) -> None:
    for change in (False, True):
        for file in [own / name for name in OWN if change]:
            file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
        assert folder_languages(str(own)) == ["eo"]
        assert sentences_of(read_own(own, "books")) == [
            *("S-ro.", "Zamora venis je la 3. Majo.", "“Ĉu vi venas?” ŝi demandis."),
            *("Li ridis…", "Jes!", "Kaj ili iris."),
        ]
        # A row without the language is left out, and keeps its number.
        nouns = [(0, "pomo"), (1, "kato"), (2, "suno"), (4, "mano"), (5, "domo")]
        assert [(row["row"], row["noun"]) for row in read_own(own, "nouns").to_pylist()] == nouns
        assert len(read_own(own, "words")) == 15
        prompts = {row["key"]: row["text"] for row in read_own(own, "prompts").to_pylist()}
        assert prompts == {**NIAH, "cwe": CWE}


@pytest.mark.parametrize("empty", ["", "\t", " \t "])
@pytest.mark.parametrize("end", ["", "\n\n\n"])
@pytest.mark.parametrize("line", ["\n", "\r\n"])
def test_an_empty_row_keeps_its_number(own: Path, empty: str, end: str, line: str) -> None:
    """So that a question in another language asks for the same noun."""
    rows = ["a\tA", "b\tB", empty, "c\tC", "d\tD", "", "e\tE"]
    for text in ("\n".join(["en\teo", *rows]), "eo\nA\nB\n\nC\nD\n\nE"):
        (own / "nouns.tsv").write_bytes((text + end).replace("\n", line).encode())
        nouns = [(row["row"], row["noun"]) for row in read_own(own, "nouns").to_pylist()]
        assert nouns == [(0, "A"), (1, "B"), (3, "C"), (4, "D"), (6, "E")]


REPEATED = "eo\npomo\nkato\n\nsuno\nPomo\nmano\ndomo\npomo\n"


def test_the_log_names_nouns_that_two_rows_share(tmp_path, caplog, own) -> None:
    caplog.set_level("INFO")
    file = tmp_path / "100_noun_list_translated.tsv"
    file.write_text(REPEATED, encoding="utf-8")
    assert len(oneruler.table("oneruler_nouns", "eo", [str(file)], {})) == 7
    said = f"{file}, eo: 5 different nouns of 7"
    again = " (again: 'Pomo' in lines 2 and 6, 'pomo' in lines 2 and 9)"
    assert caplog.messages == [f"reading {file}", said + again]
    # And a column whose language is not read from this list may have what it will.
    (own / "hyw").mkdir()
    text = "eo\thyw\tfr\na\tA\tx\nb\tw\ta\nc\tx\tb\nd\ty\tz\ne\tz\tz\n"
    (own / "nouns.tsv").write_text(text)
    assert len(read_own(own, "nouns")) == 5


def test_the_configuration_that_the_page_shows(own: Path, monkeypatch) -> None:
    page = (ROOT / "docs/adding-a-language.md").read_text("utf-8")
    (block,) = re.findall(r"^```\n(sources:.*?)^```", page, flags=re.M | re.S)
    shown = yaml.safe_load(block)
    config = yaml.safe_load((ROOT / "config.yaml").read_text("utf-8"))
    config |= {"sources": shown["sources"]}
    config["run"]["benchmarks"] = ["oneruler"]
    config["benchmarks"]["oneruler"] |= shown["benchmarks"]["oneruler"]
    monkeypatch.chdir(own.parent)
    assert validated(config)["sources"]["oneruler"]["folder"] == own.name
    settings = RuleInputs(validated(config)).facts.run_settings("oneruler", "scores")
    assert settings["instructions"] == ["eo"]
    shutil.rmtree(own / "eo")
    with pytest.raises(UserError, match="unknown language 'eo'"):
        validated(config)


def test_a_further_language_says_what_is_its_own(own: Path) -> None:
    rules = own / "eo/sentences.json"
    rules.write_text('{"abbreviations": ["s-ro."]}')
    assert sentences_of(read_own(own, "books"))[0] == "S-ro. Zamora venis je la 3. Majo."
    rules.write_text('{"joiner": ""}')
    (own / "eo/book.txt").write_text("甲来了。　乙走了。\n丙 在。", encoding="utf-8")
    (row,) = read_own(own, "books").to_pylist()
    assert row["text"] == "甲来了。乙走了。丙 在。" and row["sentence_starts"] == [0, 4, 8]
    # Several books follow one another.
    (own / "eo/more.txt").write_text("Du libroj. Fino.")
    paths = [str(own / "eo/book.txt"), str(own / "eo/more.txt")]
    found = sentences_of(oneruler.table("oneruler_books", "eo", paths, {}))
    assert found[-3:] == ["丙 在。", "Du libroj.", "Fino."]


@pytest.mark.parametrize("short", ["noun", "noun,", "noun, ", "verb,,", ""])
def test_a_short_row_of_a_dictionary_is_no_word(own: Path, short: str) -> None:
    rows = [f"noun,vorto{chr(97 + i)}" for i in range(11)]
    (own / "eo/words.csv").write_text("\n".join(["pos,words", *rows[:5], short, *rows[5:]]))
    assert len(read_own(own, "words")) == 11


@pytest.mark.parametrize(
    ("part", "file", "what"),
    [
        ("books", "eo/book.txt", "no book for the language 'eo'"),
        ("nouns", "nouns.tsv", "no list of nouns for the language 'eo'"),
        ("words", "eo/words.csv", "no dictionary for the language 'eo'"),
        ("prompts", "eo/niah.json", "no prompts .* for the language 'eo'"),
    ],
)
def test_a_missing_file(own: Path, part: str, file: str, what: str) -> None:
    """Planning names the folder; so does the reader, where another file of the part is there."""
    block = {"data": "oneruler", "languages": ["eo"], "none_words": {"eo": ["neniu"]}}
    config = configuration("oneruler", block) | {"sources": {"oneruler": {"folder": str(own)}}}
    validated(config)
    (own / file).unlink()
    with pytest.raises(UserError, match=rf"sources\.oneruler\.folder: {own}/{file} is missing"):
        validated(config)
    folder = own if part == "prompts" else r"the folder of sources\.oneruler\.folder"
    with pytest.raises(UserError, match=rf"{what}: {file} is missing in {folder}"):
        read_own(own, part)
    if part in ("words", "books"):
        block["tasks"] = ["niah_single" if part == "words" else "cwe_easy"]
        config["benchmarks"]["oneruler"] = block
        validated(config)


def test_a_missing_folder_or_dictionary_is_named(own: Path) -> None:
    (own / "eo/cwe.txt").unlink()
    # Tasks with needles need no prompt of the list of words.
    assert set(read_own(own, "prompts")["key"].to_pylist()) == set(oneruler.NIAH_KEYS)
    assert folder_languages(None) == []
    shutil.rmtree(own)
    with pytest.raises(UserError, match=r"sources\.oneruler\.folder: .* is not a folder"):
        folder_languages(str(own))
    with pytest.raises(UserError, match="no dictionary for the language 'zh'"):
        oneruler.table("sample_words", "zh", [], {})


def niah_with(key: str, text: object) -> str:
    return json.dumps({**NIAH, key: text})


TOO_SHORT = r"book\.txt: the book in 'eo' has [01] sentences, but needles stand"
TWO_ANSWERS = r"nouns\.tsv: the noun '\w+' of the column 'eo' .* line 2, and in {}: .* two answers"


@pytest.mark.parametrize(
    ("file", "text", "what"),
    [
        ("book.txt", "sen punkto kaj fino", TOO_SHORT),
        ("niah.json", "{", r"niah\.json for 'eo' is not valid JSON"),
        ("niah.json", "[]", r"niah\.json for 'eo' is not a JSON object"),
        ("niah.json", niah_with("non", "neniu"), r"niah\.json: the unknown key 'non' for 'eo'"),
        (
            "niah.json",
            json.dumps({key: text for key, text in NIAH.items() if key != "none"}),
            r"niah\.json: the key 'none' for 'eo' is missing: add it",
        ),
        ("niah.json", niah_with("task", "{contexts}"), r"'task' .*unknown placeholder .contexts"),
        ("niah.json", niah_with("task", "no text"), r"'task' .* lacks the placeholder \{context\}"),
        ("niah.json", niah_with("task", "{context}{context}"), r"\{context\} 2 times: keep one"),
        ("niah.json", niah_with("task", "{context} {"), "'task' .* a brace that does not belong"),
        ("niah.json", niah_with("task", "{context} {{x}}"), "'task' .* a doubled brace"),
        ("niah.json", niah_with("task", "{context.a}"), r"unknown placeholder \{context\.a\}"),
        ("niah.json", niah_with("task", "{context!r}"), r"unknown placeholder \{context!r\}"),
        ("niah.json", niah_with("needle_numbers", "{key}"), r"lacks the placeholder \{value\}"),
        ("niah.json", niah_with("please_list", "{key}"), r"\{key\}: it takes no placeholder"),
        ("niah.json", niah_with("none", " "), "'none' for 'eo' is empty or not a text"),
        ("cwe.txt", "Jen: {words}", r"cwe\.txt: the prompt for 'eo' has the unknown placeholder"),
        ("cwe.txt", "", r"cwe\.txt: the prompt for 'eo' is empty"),
        ("nouns.tsv", "en\tfr\na\tb\n", r"nouns\.tsv has no column 'eo': .* one; it has en, fr"),
        ("nouns.tsv", "eo\teo\na\tb\n", r"nouns\.tsv has several columns 'eo'"),
        (
            "nouns.tsv",
            "eo\na\nb\n\nc\nB\nd\n",
            r"has 4 different nouns, but the tasks need 5 \(again: 'B' in lines 3 and 6\): add some",
        ),
        ("nouns.tsv", REPEATED, TWO_ANSWERS.format("line 6 of the column 'eo'")),
        # Another language of the folder, whose row means something else.
        (
            "nouns.tsv",
            "eo\thyw\na\tv\nb\tw\nc\tx\nd\ty\ne\tA\n",
            TWO_ANSWERS.format("line 6 of the column 'hyw'"),
        ),
        ("words.csv", "word,pos\na,noun\n", r"words\.csv: the dictionary .* no column 'words'"),
        (
            "words.csv",
            "words,pos\n" + "a,noun\nb2,noun\nc,adverb\nd\n,noun\n" * 9,
            r"words\.csv: the dictionary in 'eo' has 1 usable words .* need 11",
        ),
        ("words.csv", "words,pos\n" + "x" * 200_000 + ",noun\n", "in 'eo' is not valid CSV"),
        ("sentences.json", '{"joiner": "-"}', r"sentences\.json: `joiner` for 'eo' is '-'"),
        ("sentences.json", '{"abbreviations": "k.t.p."}', "`abbreviations` for 'eo' is not a list"),
        ("sentences.json", '{"stops": []}', "unknown key 'stops' for 'eo'"),
    ],
)
def test_a_wrong_file_is_named(own: Path, file: str, text: str, what: str) -> None:
    (own / "hyw").mkdir()
    path = own / file if file == "nouns.tsv" else own / "eo" / file
    path.write_text(text, encoding="utf-8")
    of = {"niah.json": "prompts", "cwe.txt": "prompts", "nouns.tsv": "nouns", "words.csv": "words"}
    with pytest.raises(UserError, match=what):
        read_own(own, of.get(file, "books"))
    path.write_bytes("eo".encode("utf-16"))
    with pytest.raises(UserError, match=rf"{file} is not in UTF-8: save it"):
        read_own(own, of.get(file, "books"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of a made language, copied from the sample's English."""
    shutil.copytree(SAMPLE / "en", tmp_path / "eo")
    nouns = (SAMPLE / "nouns.tsv").read_text(encoding="utf-8").splitlines()
    column = nouns[0].split("\t").index("en")
    kept = ["eo", *(line.split("\t")[column] for line in nouns[1:])]
    (tmp_path / "nouns.tsv").write_text("\n".join(kept) + "\n", encoding="utf-8")
    return tmp_path


def check(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(arguments)
    return code, capsys.readouterr().out


def test_what_a_language_lacks_is_listed(capsys, folder) -> None:
    code, said = check(capsys, "de")
    assert code == 0 and "MISSING" not in said
    assert "corpora: mlqa" in said and "oneruler_books" in said
    code, said = check(capsys, "eo", "--folder", "/nowhere")
    assert code == 1 and said.count("\n") == 1
    code, said = check(capsys, "eo", "--folder", str(folder))
    assert code == 1
    assert 'MISSING phrases for "none": set benchmarks.oneruler.none_words' in said
    assert "MISSING the prompt's word for none: add " in said
    assert "sentences" in said and "per word" in said and "NLLB has no code for it" in said
    none = json.loads((folder / "eo/niah.json").read_text(encoding="utf-8"))["none"]
    code, said = check(capsys, "eo", "--folder", str(folder), "--none-words", none)
    assert (code, "MISSING" in said) == (0, False), said


@pytest.mark.parametrize("lacking", ["book.txt", "niah.json", "cwe.txt"])
def test_a_missing_file_of_a_language_is_listed(capsys, folder: Path, lacking: str) -> None:
    (folder / "eo" / lacking).unlink()
    code, said = check(capsys, "eo", "--folder", str(folder))
    assert code == 1 and lacking in said


NOUNS = SAMPLE / "nouns.tsv"
# What the letters of a language's texts are called in Unicode.
SCRIPTS = {
    **{"en": "LATIN", "fa": "ARABIC", "hi": "DEVANAGARI", "ko": "HANGUL"},
    **{"ru": "CYRILLIC", "sw": "LATIN", "zh": "CJK"},
}
IN_SAMPLE = sorted(SCRIPTS)
# The keys of the released niah.txt, each with its placeholders; those of words are not used.
PLACEHOLDERS = {key: [*names] for key, names in oneruler.NIAH_KEYS.items()}
PLACEHOLDERS |= {key.replace("numbers", "words"): names for key, names in PLACEHOLDERS.items()}
EACH = pytest.mark.parametrize("lang", IN_SAMPLE)


def read(lang: str, name: str) -> str:
    return (SAMPLE / lang / name).read_bytes().decode("utf-8")


def sample_texts(lang: str) -> dict[str, str]:
    return json.loads(read(lang, "niah.json"))


def sample_rows(part: str, lang: str, *names: str) -> list[dict]:
    return oneruler.table(part, lang, [str(SAMPLE / lang / name) for name in names], {}).to_pylist()


def noun_columns() -> dict[str, list[str]]:
    header, *rows = (line.split("\t") for line in NOUNS.read_text(encoding="utf-8").splitlines())
    return {name: [row[i] for row in rows] for i, name in enumerate(header)}


def script(text: str) -> str:
    """The script of most letters of `text`, by the first word of their Unicode names."""
    names = [unicodedata.name(c).split()[0] for c in text if unicodedata.category(c)[0] == "L"]
    return max(set(names), key=names.count)


def test_every_language_has_every_file_in_nfc_and_no_other() -> None:
    assert IN_SAMPLE == folder_languages(str(SAMPLE)) == sorted(languages_of("sample_books"))
    found = {str(p.relative_to(SAMPLE)): p for p in SAMPLE.rglob("*") if p.is_file()}
    names = ("book.txt", "cwe.txt", "niah.json", "words.csv")
    assert set(found) == {"nouns.tsv"} | {f"{x}/{name}" for x in IN_SAMPLE for name in names}
    for name, path in found.items():
        text = path.read_bytes().decode("utf-8")
        assert unicodedata.is_normalized("NFC", text), name
        assert not text.startswith("\ufeff") and text.endswith("\n"), name
        assert not re.search(r"\d{3}", text), f"{name}: may be taken for a needle's number"


@EACH
def test_texts_are_read_as_they_are_and_hold_no_needle(lang: str) -> None:
    texts, cwe, text = sample_texts(lang), read(lang, "cwe.txt"), read(lang, "book.txt")
    assert {k: re.findall(r"{(\w*)}", text) for k, text in texts.items()} == PLACEHOLDERS
    assert texts["none"] in texts["if_no_numbers"]
    files = "niah.json", "cwe.txt"
    found = {r["key"]: r["text"] for r in sample_rows("sample_prompts", lang, *files)}
    assert found == {key: texts[key] for key in oneruler.NIAH_KEYS} | {"cwe": cwe}
    (book,) = sample_rows("sample_books", lang, "book.txt")
    assert script(text) == SCRIPTS[lang] and len(book["sentence_starts"]) >= 50
    # Sentences are cut at dialogue and decimals too.
    assert text.count("“" if "“" in text else "«") >= 20 and re.search(r"\d[.,٫]\d", text)
    for noun, (opening, closing) in product(noun_columns()[lang], ("“”", "«»", '""')):
        assert f"{opening}{noun}{closing}" not in text


@EACH
def test_nouns_and_words_are_distinct_and_in_no_prompt(lang: str) -> None:
    nouns = noun_columns()[lang]
    assert len({noun.casefold() for noun in nouns}) == len(nouns) == 24
    assert all(noun and not re.search(r"\s", noun) for noun in nouns)
    texts = {key: re.sub(r"{\w*}", "", text).casefold() for key, text in sample_texts(lang).items()}
    for noun in map(str.casefold, nouns):
        assert sum(noun in other.casefold() for other in nouns) == 1, noun
        assert not re.search(rf"(?<!\w){re.escape(noun)}(?!\w)", " ".join(texts.values())), noun
        assert noun not in texts["needle_numbers"], noun
    assert [row["noun"] for row in sample_rows("sample_nouns", lang, "../nouns.tsv")] == nouns
    words = [row["word"] for row in sample_rows("sample_words", lang, "words.csv")]
    assert len({unicodedata.normalize("NFKC", word).casefold() for word in words}) == len(words)
    counts = Counter(row["pos"] for row in sample_rows("sample_words", lang, "words.csv"))
    # 75 pairs of key-value retrieval need 150 nouns; ten of the common words need fewer.
    assert min(counts.values()) >= 80 and counts["noun"] >= 150 and len(words) >= 300
    assert all(unicodedata.category(c)[0] in "LM" for word in words for c in word)
    assert script("".join(words)) == script("".join(nouns)) == SCRIPTS[lang]


def test_the_sample_copies_no_released_text(mirror: Path) -> None:
    released = mirror / "oneruler/OneRuler/data"
    theirs: set[str] = set()
    for path in sorted(released.glob("prompt/*/niah.txt")):
        texts = json.loads(path.read_text(encoding="utf-8-sig"))
        assert {k: re.findall(r"{(\w*)}", t) for k, t in texts.items()} == PLACEHOLDERS, path
        theirs.update(text.strip() for key, text in texts.items() if key != "none")
    ours = {t.strip() for x in IN_SAMPLE for key, t in sample_texts(x).items() if key != "none"}
    assert theirs and not ours & theirs
    nouns = (released / "vocab/100_noun_list_translated.tsv").read_text(encoding="utf-8-sig")
    english = {line.split("\t")[0].strip() for line in nouns.splitlines()[1:]}
    assert not english & set(noun_columns()["en"])
