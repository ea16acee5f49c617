"""What is said of errors that are not ours."""

from __future__ import annotations

import pytest

from needlework.errors import reason


class Listed(Exception):
    """As pydantic's: what went wrong is in a list."""

    def errors(self) -> list[dict[str, str]]:
        return [{"msg": "Value error, the model has no such key."}]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("\n  no such file.\nand more"), "no such file"),
        (OSError("cannot connect to the hub:\n"), "cannot connect to the hub"),
        (KeyError(), "KeyError"),
        (ValueError("x" * 1000), "x" * 300),
        (Listed("3 errors"), "the model has no such key"),
    ],
)
def test_the_first_line_is_said(error, said) -> None:
    assert reason(error) == said
