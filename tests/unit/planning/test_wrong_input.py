"""A wrong value is told with its file and line, its key and what to do, as docs/wrong-input.md says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from factories import demo_run
from http_server import OpenAIServer, Reply, refusal
from needlework.errors import UserError
from needlework.given import given
from needlework.planning.config import validated
from needlework.planning.given_files import located, read_nodes
from needlework.planning.layers import layered
from needlework.planning.preflight.keys import check_service
from own_model import ROOT, block

MINE = block("README.md", "run:\n  models: [mine]")


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading of docs/wrong-input.md."""
    page = (ROOT / "docs/wrong-input.md").read_text(encoding="utf-8")
    section = page.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^\| (?!-)(.+) \|$", section, re.MULTILINE)[1:]
    return [
        [cell.strip("`") if cell[-1] == "`" == cell[0] else cell for cell in row.split(" | ")]
        for row in found
    ]


def message_of(text: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> str:
    monkeypatch.chdir(folder)
    Path("mine.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as raised:
        read_nodes("mine.yaml")
        validated(layered(demo_run(), [yaml.safe_load(text)]))
    return located(raised.value, ["mine.yaml"], None)


def with_line(line: str) -> str:
    """README's `mine.yaml` with a line in place of the line of the same key, or at the end."""
    key = line.partition(":")[0] + ":"
    lines = MINE.splitlines()
    place = next((n for n, own in enumerate(lines) if own.startswith(key)), len(lines))
    return "\n".join([*lines[:place], line, *lines[place + 1 :]])


@pytest.mark.parametrize(("line", "said"), rows("In the configuration"))
def test_a_wrong_line_is_told_as_the_page_says(line, said, tmp_path, monkeypatch) -> None:
    assert message_of(with_line(line), monkeypatch, tmp_path).startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a\n- b", "mine.yaml holds no keys: write `key: value`, or leave the file out."),
        (
            MINE.replace("mine", "my/own"),
            "mine.yaml:6: models has the name 'my/own', but names are parts of paths: use the letters",
        ),
        ("run: {models: lexical}", "mine.yaml:1: run.models is 'lexical', but must be a list: "),
    ],
)
def test_a_wrong_file_is_told(text, said, tmp_path, monkeypatch) -> None:
    assert message_of(text, monkeypatch, tmp_path).startswith(said)


NOT_FOUND = Reply(b"Not Found", 404)
# By the row, the list of models and the reply to a prompt of one word; None: no server.
ENDPOINTS: dict[str, tuple[Reply, Reply] | None] = {
    "nothing listens": None,
    "it refuses the key": (refusal(401, "Incorrect API key"), NOT_FOUND),
    "it wants a key": (refusal(401, "Missing API key"), NOT_FOUND),
    "it serves other models": (Reply({"data": [{"id": "llama"}, {"id": "qwen"}]}), NOT_FOUND),
    "it has no such page": (NOT_FOUND, NOT_FOUND),
    "it takes fewer tokens": (
        Reply({"data": [{"id": "the-name-it-serves", "max_model_len": 4096}]}),
        NOT_FOUND,
    ),
}


@pytest.mark.parametrize(("what", "said", "remedy"), rows("At the endpoint"))
def test_a_refusal_is_told_as_the_page_says(what, said, remedy, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("MINE_KEY", "sk-abcdefgh12345678")
    own = yaml.safe_load(MINE) | {"journal": str(tmp_path)}
    model = own["models"]["mine"]
    if "key in MINE_KEY" in said:
        model["key_env"] = "MINE_KEY"
    with OpenAIServer() as server:
        model["base_url"] = server.url
        config = validated(layered(demo_run(), [own]))
        if replies := ENDPOINTS[what]:
            server.listed, server.first_reply = replies[0], lambda body: replies[1]
            with pytest.raises(UserError) as raised:
                check_service(given(config), "mine", local=True, planning=False)
    if not replies:
        with pytest.raises(UserError) as raised:
            check_service(given(config), "mine", local=True, planning=False)
    message = str(raised.value)
    assert message.startswith(f"models.mine: {server.url}") and said in message
    assert message.endswith(f"generations has none of its answers: {remedy}")


def test_the_page_has_at_least_twenty_rows() -> None:
    assert len(rows("In the configuration")) + len(rows("At the endpoint")) >= 20
