"""One command says what is there for a language and what is missing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from factories import ROOT
from needlework.benchmarks.oneruler.language_check import main

SAMPLE = ROOT / "resources/sample/oneruler"


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


def test_a_language_of_the_paper_is_complete(capsys) -> None:
    code, said = check(capsys, "de")
    assert code == 0 and "MISSING" not in said
    assert "corpora: mlqa" in said and "oneruler_books" in said


def test_what_a_new_language_lacks_is_listed(capsys, folder: Path) -> None:
    code, said = check(capsys, "eo", "--folder", str(folder))
    assert code == 1
    assert 'MISSING phrases for "none": set benchmarks.oneruler.none_words' in said
    assert "MISSING the prompt's word for none: add " in said
    assert "sentences" in said and "a word" in said and "NLLB has no code for it" in said
    none = json.loads((folder / "eo/niah.json").read_text(encoding="utf-8"))["none"]
    code, said = check(capsys, "eo", "--folder", str(folder), "--none-words", none)
    assert (code, "MISSING" in said) == (0, False), said


@pytest.mark.parametrize("lacking", ["book.txt", "niah.json", "words.csv", "cwe.txt"])
def test_a_missing_file_is_named(capsys, folder: Path, lacking: str) -> None:
    (folder / "eo" / lacking).unlink()
    code, said = check(capsys, "eo", "--folder", str(folder))
    assert code == 1 and lacking in said
    code, said = check(capsys, "eo", "--folder", str(folder / "none"))
    assert code == 1 and said.count("\n") == 1
