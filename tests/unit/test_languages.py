"""One pattern of a language's code: in folders' names, in the schema, and in the names of files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from needlework.data.corpora.registry import CORPORA, LANGUAGE, folder_languages, languages_of
from needlework.errors import UserError
from needlework.planning.json_schema import schema

ROOT = Path(__file__).resolve().parents[2]


def test_the_schema_and_the_corpora_have_it() -> None:
    patterns = re.findall(r'"pattern": "([^"]*)"', json.dumps(schema()))
    # The schema also keeps line breaks out of texts, and knows names of the hub.
    codes = {pattern for pattern in patterns if "a-z" in pattern and "/" not in pattern}
    assert codes == {f"^{LANGUAGE}$"}
    assert all(re.fullmatch(LANGUAGE, lang) for name in CORPORA for lang in languages_of(name))


def test_a_folder_that_fits_it_is_a_language(tmp_path: Path) -> None:
    for name in ("eo", "hyw1", "tlhingan", ".git"):
        (tmp_path / name).mkdir()
    (tmp_path / "nouns.tsv").touch()
    assert folder_languages(str(tmp_path)) == ["eo", "hyw1", "tlhingan"]


@pytest.mark.parametrize("name", ["pt-BR", "Eo", "e_o", "ĉe"])
def test_any_other_folder_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "eo").mkdir()
    (tmp_path / name).mkdir()
    with pytest.raises(UserError, match="is not named by a language's code") as refused:
        folder_languages(str(tmp_path))
    assert str(tmp_path / name) in str(refused.value) and "rename it" in str(refused.value)
