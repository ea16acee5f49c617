"""The command `needlework doctor`: its options, the configuration of its run, and the verdict."""

from __future__ import annotations

import argparse
import fcntl
import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from needlework.errors import UserError
from needlework.planning.doctor.configured import CONFIGURATION, FOLDER, RESULTS, prepare, say
from needlework.planning.doctor.meeting import meet
from needlework.printable import printable

_PAGES = ("index.html", "doctor.md", "doctor.json")


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
            say(*server.notices)
        with _locked() as lock:
            prepare(options, met)
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
        say(f"Error: {error}")
    except KeyboardInterrupt:
        say("Stopped before the run.")
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


def _verdict() -> int:
    """Print the verdict of the run, and put its pages beside the configuration."""
    file = FOLDER / RESULTS / "doctor.json"
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
