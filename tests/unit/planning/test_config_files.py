"""Configuration files that Snakemake could not read are refused in a sentence."""

from __future__ import annotations

import getpass
import os
import sys
from pathlib import Path

import pytest
import yaml

from needlework.errors import UserError
from needlework.planning.config_files import check_arguments, check_folder, named
from needlework.planning.given_files import located, read_nodes
from needlework.planning.known_names import KeyedError

ROOT = Path(__file__).parents[3]
LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [{f'*a{i - 1},' * 8}]\n" for i in range(1, 12))
# Few values, in many levels.
CHAIN = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 300))
WRONG = {
    " is not UTF-8 \\(byte 11 is 0xe9\\)": b"run: {} # \xe9",
    r":[23]: a value contains itself": b"run: {}\nmodels: &m\n  a: {b: *m}\n",
    r" holds no keys": b"[a]",
    r":\d+: a value .* is repeated by aliases .* more than 100,000 times": LAUGHS.encode(),
    r":\d+: a value .* is repeated by aliases .*": CHAIN.encode(),
    " nests values too deeply": b"a: " + b"[" * 5000 + b"]" * 5000,
    ":2: '2024-13-45' cannot be read as its type": b"a: 1\nb: 2024-13-45\n",
    ":1: '9+[.]+ cannot be read as its type": b"a: " + b"9" * 5000,
    ":1: a text has over 100,000 characters": b"a: " + b":".join([b"59"] * 99_999),
    r" nests values too deeply, or has too many": b"a: [" + b"1," * 400_000 + b"]",
    " has more than 1,000,000 bytes": b"#" + b"x" * 1_000_001,
    ":4: the key 'b' stands already at line 2": b"a:\n  b: 1\n  c: {b: 2}\n  b: 3\n",
    r":2: this is no YAML \(found character .*spaces alone": b"run:\n\tmodels: [a]\n",
    " is no YAML": b"a: \0b\n",
    ":3: this is no YAML": b"run:\n  models: [a]\n   benchmarks: [b]\n",
    ":2: this is no YAML": b"run:\n  models: [a\n",
}


@pytest.mark.parametrize("said", WRONG)
def test_an_unreadable_file_is_one_sentence(said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mine.yaml"
    file.write_bytes(WRONG[said])
    with pytest.raises(UserError, match=f"^mine.yaml{said}.*: .+[.]$"):
        read_nodes(file)


def test_folders_and_missing_files_are_one_sentence(tmp_path):
    for file in (tmp_path, tmp_path / "none.yaml"):
        with pytest.raises(UserError, match="correct --configfile"):
            read_nodes(file)
    check_folder(tmp_path)
    with pytest.raises(UserError, match=r"has a brace .*run in another folder"):
        check_folder(tmp_path, tmp_path / "run{1}")


def test_shared_values_and_every_preset_pass(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("a: &a {b: 1}\nc: [*a, *a]\nd: {<<: *a, <<: *a, b: 2}\n# empty: \n")
    presets = [*ROOT.glob("presets/*.yaml")]
    for each in (file, ROOT / "config.yaml", ROOT / "resources/sources.yaml", *presets):
        read_nodes(each)
    assert presets


def test_files_are_those_of_the_command_line():
    line = "-c 2 --configfile a.yaml b.yaml -n --configfiles=c.yaml d.yaml --config x=1 -- t"
    options = "--configfile", "--configfiles"
    assert named(line.split(), *options) == ["a.yaml", "b.yaml", "c.yaml", "d.yaml"]
    assert named(["--configfile", "a.yaml", "--", "table1"], *options) == ["a.yaml"]
    with pytest.raises(SystemExit, match=r"^Error: nowhere\.yaml cannot be read"):
        check_arguments(["--configfile", "nowhere.yaml"])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--configfile a.yaml --configfile b.yaml -n", "`--configfile a.yaml b.yaml`"),
        ("-n --configfile=a.yaml --cores 1 --configfiles b.yaml c.yaml", "a.yaml b.yaml c.yaml`"),
        ("-C journal=a --config judge=b", "`--config journal=a judge=b`"),
    ],
)
def test_an_option_that_stands_twice_is_told(line, said):
    with pytest.raises(SystemExit, match=f"^Error: --config.* stands twice, .*{said}[.]$"):
        check_arguments(line.split())


def test_a_user_without_a_name_is_named_by_number(monkeypatch):
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(os, "getuid", lambda: 2**31 - 7)
    with pytest.raises((KeyError, OSError)):
        getpass.getuser()
    check_arguments(["-n"])
    assert getpass.getuser() == str(2**31 - 7)


def test_all_profiles_check_the_files():
    profiles = [yaml.safe_load(path.read_text()) for path in ROOT.glob("profiles/*/config.yaml")]
    assert len(profiles) == 2 and "check_arguments" in profiles[0]["__definitions__"][0]
    assert profiles[0]["__definitions__"] == profiles[1]["__definitions__"]


@pytest.mark.skipif(sys.platform != "linux", reason="Snakemake's folder differs")
def test_a_missing_home_names_its_remedy(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", "/proc/nowhere")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    with pytest.raises(SystemExit, match="set the environment variable XDG_CACHE_HOME"):
        check_arguments(["-n"])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    check_arguments(["-n"])


@pytest.mark.parametrize(
    "line",
    [
        "--cores 1 --configfile config.yaml mlneedle_table1",
        "--configfile config.yaml results/index.html -n",
        "--config journal=a estimate",
    ],
)
def test_a_target_behind_an_option_is_told_its_place(line, monkeypatch):
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit, match=r"name targets before the options, as in `snakemake \w+"):
        check_arguments(line.split())


MINE = """\
run:
  models: [mine]

models:
  model-1.5:
    context: 5
    only:
      task: [a, b]
"""


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("run.models names 'mine', which is not in `models`.", "mine.yaml:2: "),
        ("models.model-1.5.only.task.1 is wrong.", "mine.yaml:8: "),
        ("models.model-1.5: the length 9 is above the context.", "mine.yaml:5: "),
        ("models.model-1.5.tokenizer names 'a' of tokenizers.b.", "mine.yaml:5: "),
        ("models.model-1.context.a is of another file.", ""),
        ("journal.b is of the command line.", "--config: "),
        ("nothing is named.", ""),
    ],
)
def test_an_error_names_file_and_line(message, place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(MINE)
    said = located(UserError(message), [tmp_path / "mine.yaml"], {"journal": "a"})
    assert said == place + message


def test_the_last_file_with_a_key_is_named(tmp_path):
    files = [tmp_path / "a.yaml", tmp_path / "b.yaml"]
    for file in files:
        file.write_text(MINE)
    (tmp_path / "c.yaml").write_text("models: {other: {context: 1}}")
    error = KeyedError("wrong.", ["models", "model-1.5", "context"])
    said = located(error, [*files, tmp_path / "c.yaml"], None)
    assert said == f"{files[1]}:6: wrong."
