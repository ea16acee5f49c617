"""Instructions of a user's own: a folder or a block, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from needlework.errors import UserError
from needlework.prompts.wording import Templates, all_texts, check_texts, pieces, user_texts

TEXTS = {"exact": ("passages", "question"), "yes": ()}
BLOCK = {"exact": "Oku: {passages} Soru: {question}", "yes": "Evet"}


@pytest.fixture
def folder(tmp_path: Path) -> str:
    for name, text in BLOCK.items():
        (tmp_path / f"{name}.txt").write_text(f"\ufeff{text}\n", encoding="utf-8")
    return str(tmp_path)


def test_a_folder_and_a_block_are_the_same_texts(folder: str) -> None:
    assert user_texts({"tr": folder}, "tr", [*TEXTS]) == user_texts({"tr": BLOCK}, "tr", [*TEXTS])
    assert all_texts(folder) == all_texts(BLOCK) == BLOCK
    assert user_texts({"tr": BLOCK}, "de", [*TEXTS]) == {}


def test_a_users_text_is_used_before_the_papers(folder: str) -> None:
    files = {"exact": f"{folder}/exact.txt"}
    own = Templates({"exact": "A {passages} B {question} C"}, files, TEXTS)
    assert own.of_user and own.pieces("exact") == ["A ", " B ", " C"]
    paper = Templates({}, files, TEXTS)
    assert not paper.of_user and paper.pieces("exact") == ["Oku: ", " Soru: ", ""]
    assert (own.text("yes", "Yes"), paper.text("yes", "Yes")) == ("Yes", "Yes")


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({**BLOCK, "exacts": "x"}, "has the unknown text 'exacts': the texts are exact, yes"),
        ({"yes": "Evet"}, "lacks 'exact', which the prompts of this run take: write it"),
        ({**BLOCK, "yes": " "}, "instructions.tr.yes is empty"),
        ({**BLOCK, "yes": "{x}"}, "must hold no placeholder; it holds {x}"),
        ({**BLOCK, "exact": "{question}{passages}"}, "{passages} and {question}, once and in this"),
    ],
)
def test_a_wrong_block_is_one_sentence(block: dict[str, str], message: str) -> None:
    with pytest.raises(UserError) as raised:
        check_texts("benchmarks.b.instructions", {"tr": block}, TEXTS, {"tr": ["exact"]})
    assert message in str(raised.value) and "\n" not in str(raised.value)


def test_a_missing_file_of_a_folder_is_named(folder: str) -> None:
    (Path(folder) / "exact.txt").unlink()
    with pytest.raises(UserError, match=r"lacks the file .*/exact\.txt"):
        check_texts("i", {"tr": folder}, TEXTS, {"tr": ["exact"]})
    with pytest.raises(UserError, match="none is not a folder"):
        check_texts("i", {"tr": "none"}, TEXTS, {})


def test_placeholders_in_braces_part_a_template() -> None:
    assert pieces(" a {x} b ", ["x"], "here") == ["a ", " b"]
