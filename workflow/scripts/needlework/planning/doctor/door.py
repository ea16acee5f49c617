"""The command `needlework doctor`: its options, the configuration of its run, and the verdict."""

from __future__ import annotations

import argparse
import fcntl
import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import yaml

from needlework import safe_yaml
from needlework.atomic import atomic_write
from needlework.errors import UserError
from needlework.planning.doctor.meeting import Met, measure, meet
from needlework.planning.doctor.questions import ASKED, HIDDEN, base, plan, some_pairs, some_words
from needlework.planning.preflight.first_request import too_short
from needlework.printable import printable

FOLDER = Path("doctor")
CONFIGURATION = FOLDER / "doctor.yaml"
_RESULTS = Path("results/doctor/served")
_PAGES = ("index.html", "doctor.md", "doctor.json")
# Of a server that names no limit.
_CONTEXT = 8192


class _Options(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UserError(f"needlework doctor: {message}: see `needlework --help`.")


def doctor(words: list[str], run: Callable[[str, list[str], int], int]) -> int:
    """Ask a server and print the verdict; the exit status is 0 (sound), 1 (a fault) or 2 (no verdict).

    words: those of the command line. run: runs Snakemake with a file of the configuration and options, and
    has it hold an open file.
    """
    try:
        options, further = _options(words)
        met = {"served": meet(options.url, options.model, options.key_env)}
        if options.against:
            own = met["served"].model.name
            named = options.model_against
            met["other"] = meet(options.against, named, options.key_env_against, own)
            if met["other"].model == met["served"].model:
                raise UserError(
                    f"Both addresses are {met['served'].model.address} with the model {own}: name another "
                    "server with --against, or another model of this one with --model-against."
                )
        for server in met.values():
            _say(*server.notices)
        with _locked() as lock:
            _prepare(options, met)
            # Snakemake's own lock would outlive a kill.
            own_options = ["--nolock", "--directory", str(FOLDER)]
            if status := run(str(CONFIGURATION), [*own_options, *further], lock):
                again = " without --anew" if options.anew else ""
                raise UserError(
                    f"The run ended without a verdict (status {status}): the same command{again} goes on."
                )
            if {"-n", "--dry-run", "--dryrun"} & {*further}:
                raise UserError("A dry run has no verdict: leave out -n.")
            return _verdict()
    except UserError as error:
        _say(f"Error: {error}")
    except KeyboardInterrupt:
        _say("Stopped before the run.")
    return 2


def _options(words: list[str]) -> tuple[argparse.Namespace, list[str]]:
    if not words or words[0].startswith("-"):
        raise UserError(
            "needlework doctor needs the address of a server before the options, as in `needlework doctor "
            "http://localhost:8000/v1`."
        )
    parser = _Options(add_help=False, allow_abbrev=False)
    for name in ("--against", "--model", "--model-against", "--key-env", "--key-env-against"):
        parser.add_argument(name)
    parser.add_argument("--context", type=_tokens)
    parser.add_argument("--languages", default="en,zh")
    parser.add_argument("--prompts", type=int, default=300)
    parser.add_argument("--fail-if-worse-by", type=float)
    parser.add_argument("--anew", action="store_true")
    options, further = parser.parse_known_args(words[1:])
    options.url = words[0]
    options.languages = list(dict.fromkeys(filter(None, re.split(r"[,\s]+", options.languages))))
    of_two = options.fail_if_worse_by, options.key_env_against, options.model_against
    if options.against is None and any(of_two):
        raise UserError(
            "--fail-if-worse-by, --model-against and --key-env-against need --against URL, the server to "
            "compare with."
        )
    if options.fail_if_worse_by is not None and not 0 < options.fail_if_worse_by <= 100:
        raise UserError("--fail-if-worse-by is a number of points above 0, such as 2.")
    return options, further


@contextmanager
def _locked() -> Iterator[int]:
    """An open file that is locked until this process and Snakemake have ended, however they end."""
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / ".lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(
                f"{FOLDER}/ is in use by another run of the doctor: wait for its end, or stop it."
            ) from None
        yield lock.fileno()


def _tokens(text: str) -> int:
    """A number of tokens such as 32k or 32768."""
    found = re.fullmatch(r"(\d{1,9})(k|m|)", text.lower())
    if not found or not int(found[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of tokens, such as 32k")
    return int(found[1]) * {"": 1, "k": 1024, "m": 1024**2}[found[2]]


def _prepare(options: argparse.Namespace, met: Mapping[str, Met]) -> None:
    """Write the configuration, unless the same command has written it."""
    old = _old() if CONFIGURATION.exists() and not options.anew else {}
    _check_same(old.get("models", {}), met)
    parts = [options.url]
    for name, value in vars(options).items():
        if value and name not in ("url", "anew"):
            text = ",".join(value) if name == "languages" else str(value)
            parts += [f"--{name.replace('_', '-')}", text]
    first = printable(f"# needlework doctor {shlex.join(parts)}", lines=False)
    if old and CONFIGURATION.read_text(encoding="utf-8").partition("\n")[0] == first:
        _say(f"{CONFIGURATION} is this command's, which goes on; --anew asks from the beginning.")
        return
    stamp = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}"
    if old:
        stamp = str(old["models"]["served"]["variant"]).partition(" ")[0]
    text = yaml.safe_dump(
        _configuration(options, met, stamp), sort_keys=False, allow_unicode=True, width=110
    )
    with atomic_write(CONFIGURATION) as part:
        part.write_text(f"{first}\n{text}", encoding="utf-8")
    # A verdict of other questions must not be taken for this one's.
    for folder in (FOLDER, FOLDER / _RESULTS):
        (folder / "doctor.json").unlink(missing_ok=True)


def _old() -> Any:
    """The configuration that an earlier command has written."""
    try:
        found = safe_yaml.read(CONFIGURATION)
        for entry in found["models"].values():
            str(entry["name"]), str(entry["base_url"]), str(entry["variant"])
        return found if found["models"]["served"] else {}
    except (OSError, ValueError, yaml.YAMLError, LookupError, TypeError, AttributeError):
        raise UserError(
            f"{CONFIGURATION} is not as the doctor writes it: move it away, or name --anew to write it again."
        ) from None


def _check_same(old: Mapping[str, Any], met: Mapping[str, Met]) -> None:
    """Raise UserError if the folder's answers are of another model or address."""
    for name, server in met.items():
        was = old.get(name, {"name": server.model.name, "base_url": server.model.address})
        if (was["name"], was["base_url"]) != (server.model.name, server.model.address):
            raise UserError(
                f"{CONFIGURATION} was written for {was['name']} at {was['base_url']}, and this is "
                f"{server.model.name} at {server.model.address}: name --anew to ask it from the start, or "
                "run the command in another folder."
            )


def _context(wished: int | None, met: Mapping[str, Met]) -> int:
    limits = [server.limit for server in met.values() if server.limit]
    if wished is None and not limits:
        _say(
            f"The server names no limit of its context: {_CONTEXT:,} tokens are taken; --context says more."
        )
    for server in met.values():
        if wished and (refused := too_short(wished, server.limit)):
            said, remedy = (text.replace("`context`", "--context") for text in refused)
            raise UserError(f"{server.model.address}: {said.removeprefix('it ')}: {remedy}.")
    return wished or min(limits, default=_CONTEXT)


def _configuration(
    options: argparse.Namespace, met: Mapping[str, Met], stamp: str
) -> dict[str, Any]:
    """The configuration of the run. Measures tokens, and says how many prompts and tokens it asks."""
    context = _context(options.context, met)
    languages = [lang for lang in options.languages if lang in (*HIDDEN, *ASKED)]
    tokens = measure(met["served"].model, base(), some_pairs(), some_words(languages))
    if tokens.assumed:
        _say(
            f"The server counts no tokens of prompts: {tokens.pair:.0f} for each pair of UUIDs are assumed."
        )
    found = plan(context, tokens, options.prompts)
    lacking = [lang for lang in options.languages if lang not in languages]
    left_out = [f"{lang} (not in the sample)" for lang in lacking]
    if left_out := [*left_out, *(f"{lang} (does not fit)" for lang in found.left_out)]:
        _say(f"Languages that are left out: {', '.join(left_out)}.")
    _say(
        f"Each server gets {found.prompts:,} prompts with about {found.tokens:,} tokens, the longest of "
        f"{found.longest:,}."
    )
    models = {
        name: {
            **{"backend": "openai", "name": server.model.name, "base_url": server.model.address},
            **{"key_env": server.model.key_env, "tokenizer": "words", "context": context},
            # The two may share their name, and answers are found by it.
            **{"sampling": {"temperature": 0}, "variant": f"{stamp} {name}"},
            # What is lost is a finding, and ends no job.
            "max_failed": 1_000_000,
        }
        for name, server in met.items()
    }
    compared: dict[str, Any] = {"model": "served"}
    if "other" in met:
        compared["against"] = "other"
    if options.fail_if_worse_by:
        compared["fail_if_worse_by"] = options.fail_if_worse_by / 100
    return {
        "run": {"models": [*models], "benchmarks": [*found.benchmarks], "doctor": [compared]},
        # A gate judges all prompts of a benchmark together: cells of it would need many times as many.
        "doctor": {"again": found.again, "by": []},
        "models": models,
        "benchmarks": found.benchmarks,
    }


def _verdict() -> int:
    """Print the verdict of the run, and put its pages beside the configuration."""
    file = FOLDER / _RESULTS / "doctor.json"
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        lines = [f"{found['verdict']}: {found['sentence']}", ""]
        for check in found["checks"]:
            more = f" {check['more']}" if check.get("more") else ""
            lines.append(f"{check['title']}: {check['sentence']}{more}")
        lines += ["", f"{FOLDER / 'index.html'} (asked {found['asked']})"]
        status = int(found["exit_status"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UserError(
            f"{file} has no verdict ({type(error).__name__}): the same command makes it."
        ) from None
    for name in _PAGES:
        shutil.copyfile(file.with_name(name), FOLDER / name)
    print(printable("\n".join(lines)))
    return status if status in (0, 1) else 2


def _say(*sentences: str) -> None:
    for sentence in sentences:
        print(printable(sentence), file=sys.stderr, flush=True)
