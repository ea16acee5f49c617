"""What the backends that load weights say alike."""

from __future__ import annotations

import logging

import pytest

from needlework.errors import not_installed
from needlework.local_models import unfilled_template, warn_if_unpinned

WHERE = "models.mine"


@pytest.mark.parametrize(
    ("revision", "local", "warned"),
    [(None, False, True), ("abc", False, False), (None, True, False)],
)
def test_a_model_of_the_hub_without_a_revision_is_warned_of(
    revision, local, warned, tmp_path, caplog
) -> None:
    name = str(tmp_path) if local else "some/model"
    with caplog.at_level(logging.WARNING, logger="needlework"):
        warn_if_unpinned(WHERE, name, revision)
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == warned
    assert all(text.startswith("models.mine.revision is not set: the answers") for text in said)


def test_a_template_that_cannot_be_filled_names_the_model_and_the_way_out() -> None:
    error = unfilled_template(WHERE, "some/base", ValueError("no chat template is set.\nmore"))
    assert str(error).startswith(
        "models.mine: a prompt cannot be put into the chat template of some/base: no chat template is set. "
    )
    assert "`chat: false`" in str(error) and "\n" not in str(error)


def test_a_missing_package_is_named() -> None:
    error = not_installed(WHERE, ModuleNotFoundError("No module named 'torch'", name="torch"))
    assert "models.mine: the package 'torch' is not installed" in str(error)
    assert "requirements/all.txt" in str(error)
