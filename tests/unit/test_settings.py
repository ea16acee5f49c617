"""The classes of the configuration: what they take, what they add, and who imports them."""

from __future__ import annotations

import ast
import json
import pickle
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from pydantic import ValidationError

from factories import demo_run
from kept_configurations import kept, made
from needlework.errors import UserError
from needlework.given import ABSENT, given
from needlework.models.backends.controls_settings import Controls
from needlework.models.settings import MODELS, OF_BACKENDS
from needlework.planning.config import validated
from needlework.planning.configuration import block_class, plain
from needlework.planning.json_schema import schema
from needlework.planning.layers import layered
from needlework.settings.base import Settings
from needlework.settings.sources import Columns

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "workflow/scripts/needlework"


def complaint(*given: Mapping[str, Any]) -> str:
    with pytest.raises(UserError) as raised:
        validated(layered(demo_run(), given))
    return str(raised.value)


def test_settings_cannot_be_replaced() -> None:
    model = Controls(backend="oracle", tokenizer="words", context=10)
    with pytest.raises(ValidationError, match="frozen"):
        model.context = 11  # type: ignore[misc]  # as a typing mistake of ours
    assert model.lengths is None and model.engine.tensor_parallel_size == 1


def test_a_models_keys_keep_their_order() -> None:
    """Snakemake compares parameters as texts."""
    former = kept()
    now, before = made(former["demo"], None)["models"], former["validated"]["models"]
    for name, entry in before.items():
        assert [key for key in now[name] if key in entry] == list(entry)
        assert list(now[name]["sampling"]) == list(entry["sampling"])


def test_effects_of_keys_are_the_same_in_every_block() -> None:
    owners = {key: [m for m in MODELS if key in m.model_fields] for key in OF_BACKENDS}
    for key, classes in owners.items():
        effects = {own.with_effect(key) for own in MODELS}
        assert effects == {classes[0].with_effect(key)}, key
    assert Controls.with_effect("device") == "speed" and Controls.with_effect("stop") == "answers"
    own = block_class("models", {"backend": "openai"})
    assert own.with_effect("concurrency") == "speed" and own.with_effect("request") == "answers"
    assert block_class("sources.mmarco", {}).with_effect("pool") == "prompts"
    assert block_class("translators", {"kind": "llm"}).with_effect("base_url") == "place"
    # As an entry that nobody defined.
    assert block_class("models", {"backend": "strange"}).with_effect("name") == ""


def test_conditions_hold_for_all_after_wrong_values() -> None:
    spare = {"backend": "vllm", "name": "a/b", "tokenizer": "words", "context": 10}
    said = complaint({"models": {"spare": {**spare, "chat": False, "system": "Hi."}}})
    assert said.startswith("models.spare.system needs a chat template: leave it out")
    said = complaint({"translators": {"mine": {"kind": "google", "key_env": "PATH"}}})
    assert said.startswith("translators.mine.key_env is 'PATH', a variable that holds no key")
    served = {"backend": "openai", "name": "m", "tokenizer": "words", "context": 10}
    given = {"models": {"a": {**served, "request": {"n": 2}}, "z": {**served, "context": "ten"}}}
    assert complaint(given).startswith("models.z.context is 'ten'")
    del given["models"]["z"]
    assert complaint(given) == "models.a.request.n cannot be set: use the key `samples`."
    tasks = [{"n": 1, "depths": ["deep"], "questions": ["number"]}]
    said = complaint({"benchmarks": {"mlongrr": {"tasks": tasks}}})
    assert said.startswith("benchmarks.mlongrr.tasks.0.depths.0 is 'deep', but 'deep' is not of")


def test_own_corpora_are_known_and_null_columns_left_out() -> None:
    columns = {"question": "q", "context": "c", "answers": "a"}
    data = {"en": {"name": "a/b", "revision": "0" * 40}}
    own = {"mine": {"kind": "questions", "columns": columns, "languages": data}}
    for wrong in ("mlqaa", ["mine"], {"a": 1}):
        said = complaint({"corpora": own, "benchmarks": {"mlneedle": {"needles": wrong}}})
        assert "Known: mine, mlqa, sample_questions, xquad" in said, said
    data = {"en": {"name": "a/b", "revision": "0" * 40}}
    own = {"kind": "passages", "columns": {"text": "t", "title": None}, "languages": data}
    full = validated(layered(demo_run(), [{"corpora": {"mine": own}}]))
    assert full["corpora"]["mine"]["columns"] == {"text": "t"}
    said = complaint({"corpora": {"mine": own | {"columns": {"text": None}}}})
    assert said.startswith("corpora.mine.columns lacks 'text', which `kind: passages` needs")


def test_editors_accept_what_the_workflow_accepts() -> None:
    validator = jsonschema.Draft202012Validator(schema())
    validator.check_schema(schema())
    demo = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    for file in (ROOT / "config.yaml", *ROOT.glob("presets/*.yaml")):
        given = plain(layered(demo, [yaml.safe_load(file.read_text(encoding="utf-8"))]))
        own = set(given.get("corpora", ()))
        # The user's own corpora are known to nobody else.
        found = [str(error.instance).split("_p")[0] for error in validator.iter_errors(given)]
        assert [each for each in found if each not in own] == [], file
    given = demo_run()
    given["models"]["lexical"]["contxt"] = 5
    assert [*validator.iter_errors(given)]


def test_blocks_read_as_their_classes_and_pickle_as_dicts() -> None:
    config = validated(demo_run())
    block = given(config)
    assert block == config and json.dumps(block) == json.dumps(config)
    assert block.run.models == tuple(config["run"]["models"])
    assert block.run.fail_if_worse_by is None
    with pytest.raises(AttributeError, match="no key 'modles' among"):
        _ = block.run.modles
    assert type(pickle.loads(pickle.dumps(block))["run"])  # noqa: S301  # our own is dict


def test_keys_named_like_methods_of_dict_are_attributes_too() -> None:
    fields = [(own, *field) for own in classes(Settings) for field in own.model_fields.items()]
    assert len(fields) > 200
    # `dict(block)`, `{**block}` and `json.dumps(block)` do not call `keys`.
    assert {n for _, n, _ in fields if hasattr(dict, n)} == {"keys"}
    block = given({"keys": [1, 2]})
    assert block.keys == (1, 2) and dict(block) == {**block} == json.loads(json.dumps(block))
    names = {name: 1 for name in vars(dict) if name != "keys"}
    assert given({"a": names})["a"].items() == names.items()
    assert json.loads(json.dumps(given({"a": [names]}))) == {"a": [names]}
    absent = {
        name
        for kind, name, field in fields
        if kind is not Columns and (field.json_schema_extra or {}).get("absent")
    }
    assert absent == ABSENT


def classes(kind: type[Settings]) -> list[type[Settings]]:
    return [kind, *(own for below in kind.__subclasses__() for own in classes(below))]


def test_no_job_imports_settings() -> None:
    """Their environments may lack pydantic."""
    users = set()
    for file in LIBRARY.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                node.body = []
        for node in ast.walk(tree):
            named = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            if re.match(r"pydantic|.*[._]settings", named):
                users.add(file.relative_to(LIBRARY).as_posix())
    allowed = ("settings/", "planning/")
    assert [u for u in users if not u.startswith(allowed) and not u.endswith("settings.py")] == []
    assert users
    # What the scripts of jobs import at their beginning, and what these do.
    code = "import sys\nfor name in ('pydantic', 'pydantic_core'): sys.modules[name] = None\n"
    imports = [
        line
        for script in (ROOT / "workflow/scripts").glob("*.py")
        for line in script.read_text(encoding="utf-8").splitlines()
        if line.startswith("from needlework.") and not line.endswith("(")
    ]
    code += "sys.path.append('workflow/scripts')\n" + "\n".join(sorted({*imports}))
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert len(imports) > 30 and done.returncode == 0, done.stderr
