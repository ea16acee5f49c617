"""Configuration files that Snakemake could not read are refused in a sentence."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml

from needlework.errors import UserError
from needlework.planning.config_files import (
    check_arguments,
    check_file,
    check_folder,
    named,
)

ROOT = Path(__file__).parents[3]
LAUGHS = "a0: &a0 [x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 8)}]\n" for i in range(1, 12)
)
WRONG = {
    "not UTF-8 \\(byte 11 is 0xe9\\)": b"run: {} # \xe9",
    "line 2 contains itself": b"run: {}\nmodels: &m\n  a: {b: *m}\n",
    "line 1 contains itself": b"&a [*a]",
    "holds more than 1,000,000 values": LAUGHS.encode(),
    "nests values too deeply": b"a: " + b"[" * 5000 + b"]" * 5000,
    "value at line 2, '2024-13-45', cannot be read": b"a: 1\nb: 2024-13-45\n",
    "cannot be read as its type": b"a: " + b"9" * 5000,
    "has 200,000 characters": b"a: " + b"x" * 200_000,
    "has 1,000,00. bytes": b"#" + b"x" * 1_000_001,
    "key 'b' stands at line 2 and again at line 4": b"a:\n  b: 1\n  c: {b: 2}\n  b: 3\n",
}


@pytest.mark.parametrize("said", WRONG)
def test_an_unreadable_file_is_one_sentence(said, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_bytes(WRONG[said])
    with pytest.raises(UserError, match=f"^{file}.*{said}.*: [a-zA-Z 0-9,-]+[.]$"):
        check_file(file)


def test_a_folder_and_no_file_are_one_sentence(tmp_path):
    for file in (tmp_path, tmp_path / "none.yaml"):
        with pytest.raises(UserError, match="correct --configfile"):
            check_file(file)


def test_shared_values_and_every_preset_pass(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("a: &a {b: 1}\nc: [*a, *a]\nd: {<<: *a, <<: *a, b: 2}\n# empty: \n")
    presets = [*ROOT.glob("presets/*.yaml")]
    for each in (file, ROOT / "config.yaml", *presets):
        check_file(each)
    assert presets
    file.write_text("")
    check_file(file)


def test_a_folder_with_a_brace_is_refused(tmp_path):
    check_folder(tmp_path)
    with pytest.raises(UserError, match=r"has a brace .*run in another folder"):
        check_folder(tmp_path, tmp_path / "run{1}")


def test_files_are_those_of_the_command_line():
    line = "-c 2 --configfile a.yaml b.yaml -n --configfiles=c.yaml d.yaml --config x=1 -- t"
    assert named(line.split()) == ["a.yaml", "b.yaml", "c.yaml", "d.yaml"]
    assert named(["--configfile", "a.yaml", "--", "table1"]) == ["a.yaml"]
    with pytest.raises(SystemExit, match=r"^Error: nowhere\.yaml cannot be read"):
        check_arguments(["--configfile", "nowhere.yaml"])


def test_all_profiles_check_the_files():
    profiles = [yaml.safe_load(path.read_text()) for path in ROOT.glob("profiles/*/config.yaml")]
    assert len(profiles) == 2 and "check_arguments" in profiles[0]["__definitions__"][0]
    assert profiles[0]["__definitions__"] == profiles[1]["__definitions__"]


@pytest.mark.skipif(sys.platform != "linux", reason="Snakemake's folder differs")
def test_a_missing_home_names_its_remedy(monkeypatch):
    monkeypatch.setenv("HOME", "/proc/nowhere")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    with pytest.raises(SystemExit, match="set the environment variable XDG_CACHE_HOME"):
        check_arguments(["-n"])


def test_a_cache_folder_elsewhere_is_enough(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", "/proc/nowhere")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    check_arguments(["-n"])
