"""A wrong value is told with its file and line, its key and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from factories import demo_run
from needlework.errors import UserError
from needlework.planning.config import validated
from needlework.planning.config_files import located, read_nodes
from needlework.planning.schema import layered

SERVED = """\
run:
  models: [mine]
models:
  mine:
    backend: openai
    name: a
    tokenizer: words
    context: 8192
"""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("- a\n- b", "mine.yaml holds no keys: write `key: value`, or leave the file out."),
        (
            "run: {models: lexical}",
            "mine.yaml:1: run.models is 'lexical', but must be a list: write [lexical], see",
        ),
        (
            "benchmarks:\n  mlneedle:\n    lengths: 4096",
            "mine.yaml:3: benchmarks.mlneedle.lengths is 4096, but must be a list: write [4096], see",
        ),
        (
            SERVED + "    api_key: abc",
            "mine.yaml:9: unknown key 'api_key' in models.mine: did you mean 'key_env'?",
        ),
        (
            SERVED + "    max_model_len: 4096",
            "mine.yaml:9: unknown key 'max_model_len' in models.mine: did you mean 'context'?",
        ),
        (
            SERVED + "    temperature: 0",
            "mine.yaml:9: unknown key 'temperature' in models.mine: did you mean 'sampling'?",
        ),
        (
            SERVED + "    base_url: localhost:8000/v1",
            "mine.yaml:9: models.mine.base_url is not an http(s) URL, such as http://localhost:8000/v1",
        ),
        (
            SERVED.replace("mine", "my/own"),
            "mine.yaml:4: models has the name 'my/own', but names are parts of paths: use the letters",
        ),
        (
            "\njudge: lexcal",
            "mine.yaml:2: judge names 'lexcal', which is not in `models`: did you mean 'lexical'?",
        ),
        (
            "compare: [[lexical]]",
            "mine.yaml:1: compare.0 is ['lexical'], of 1, but must have at least 2: see",
        ),
    ],
)
def test_a_wrong_value_is_told_with_place_and_remedy(
    given: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(given, encoding="utf-8")
    with pytest.raises(UserError) as raised:
        read_nodes("mine.yaml")
        validated(layered(demo_run(), [yaml.safe_load(given)]))
    assert located(raised.value, ["mine.yaml"], None).startswith(said)
