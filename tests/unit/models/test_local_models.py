"""What the backends that load weights say alike, and what they make of a model's thoughts."""

from __future__ import annotations

import logging

import pytest

from needlework.errors import UserError, not_installed
from needlework.models.backends.base import Answer
from needlework.models.local_models import (
    former_identity,
    reasoning_identity,
    regime,
    template_check,
    warn_if_unpinned,
    with_thoughts,
)

WHERE = "models.mine"


@pytest.mark.parametrize(
    ("revision", "local", "warned"),
    [(None, False, True), ("abc", False, False), (None, True, False)],
)
def test_a_hub_model_without_a_revision_is_reported(
    revision, local, warned, tmp_path, caplog
) -> None:
    name = str(tmp_path) if local else "some/model"
    with caplog.at_level(logging.WARNING, logger="needlework"):
        warn_if_unpinned(WHERE, name, revision)
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == warned
    assert all(text.startswith("models.mine.revision is not set: the hub's") for text in said)


def test_a_broken_template_and_a_missing_package_are_named() -> None:
    with pytest.raises(UserError) as caught, template_check(WHERE, "some/base"):
        raise ValueError("no chat template is set.\nmore")
    said = (
        "models.mine: a prompt cannot be put into the chat template of some/base: no chat template"
    )
    assert str(caught.value).startswith(f"{said} is set. ")
    assert "`chat: false`" in str(caught.value) and "\n" not in str(caught.value)
    error = not_installed(WHERE, ModuleNotFoundError("No module named 'torch'", name="torch"))
    assert "models.mine: the package 'torch' is not installed" in str(error)
    assert "requirements/all.txt" in str(error)


def test_a_variant_is_part_of_the_identity_if_set() -> None:
    """So records of before stay valid, and those of another variant do not."""
    assert regime({"variant": None, "stop": []}) == {}
    assert regime({"variant": "few at once"}) == {"variant": "few at once"}


PIECES = ["Hm", " so", "</th", "ink>", "\n\n", "Ro", "me", ".", "<think>", "</think>", "<end>"]
SPECIAL = {8, 9, 10}


class Tokenizer:
    """A token is a piece of text; some are special."""

    def decode(self, tokens: list[int], skip_special_tokens: bool) -> str:
        return "".join(PIECES[t] for t in tokens if not (skip_special_tokens and t in SPECIAL))


@pytest.mark.parametrize(
    ("tokens", "ended", "text", "count"),
    [
        ([8, 0, 1, 9, 4, 5, 6, 7, 10], "stop", "Rome.", 4),
        ([0, 1, 2, 3, 4, 5, 6, 7, 10], "stop", "Rome.", 4),
        ([0, 9, 5, 6, 9, 7], "length", "Rome.", 2),
        ([0, 9], "length", "", 2),
        ([9, 5, 6], "length", "Rome", 1),
        ([5, 6, 7, 10], "stop", "Rome.", 0),
        ([8, 0, 1, 2], "length", "", 4),
        ([], "length", "", 0),
    ],
)
def test_an_answer_has_no_thoughts_and_they_are_counted(tokens, ended, text, count) -> None:
    whole = Answer(Tokenizer().decode(tokens, True), ended, completion_tokens=len(tokens))
    own = {"reasoning": {"max_tokens": 9, "end": "</think>"}}
    found = with_thoughts(Tokenizer(), tokens, whole, own)
    names = ("text", "finish_reason", "completion_tokens", "reasoning_tokens")
    expected = [text, ended, len(tokens), count]
    assert [getattr(found, name) for name in names] == expected


def test_an_undeclared_thinker_keeps_its_special_tokens() -> None:
    """So that marks among them can be told later."""
    tokens = [8, 0, 9, 5, 6, 7]
    plain = Answer(Tokenizer().decode(tokens, True), completion_tokens=6)
    found = with_thoughts(Tokenizer(), tokens, plain, {"reasoning": None})
    assert (found.text, found.whole) == ("HmRome.", "<think>Hm</think>Rome.")
    assert found.special == ("</think>", "<think>")
    whole = Answer("Rome.", completion_tokens=3)
    assert with_thoughts(Tokenizer(), [5, 6, 7], whole, {"reasoning": None}) == whole


def test_the_mark_behind_thoughts_is_no_part_of_the_identity() -> None:
    own, usual = ({"reasoning": {"max_tokens": 9, "end": end}} for end in ("So:", "</think>"))
    assert reasoning_identity(own) == reasoning_identity(usual) == usual
    assert former_identity(usual, {"a": 1, **usual}) is None
    assert former_identity(own, {"a": 1, **usual}) == {"a": 1, **own}
    assert reasoning_identity({"reasoning": None}) == {}
