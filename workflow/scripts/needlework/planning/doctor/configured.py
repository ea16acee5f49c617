"""The configuration of a doctor's run, which is written once and goes on."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from needlework import safe_yaml
from needlework.atomic import atomic_write
from needlework.errors import UserError
from needlework.planning.doctor.meeting import Met, measure
from needlework.planning.doctor.questions import plan
from needlework.planning.doctor.sample_texts import ASKED, HIDDEN, base, some_pairs, some_words
from needlework.planning.preflight.first_request import too_short
from needlework.printable import printable

FOLDER = Path("doctor")
CONFIGURATION = FOLDER / "doctor.yaml"
RESULTS = Path("results/doctor/served")
# Of a server that names no limit.
_CONTEXT = 8192


def prepare(options: argparse.Namespace, met: Mapping[str, Met]) -> None:
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
        say(f"{CONFIGURATION} is this command's, which goes on; --anew asks from the beginning.")
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
    for folder in (FOLDER, FOLDER / RESULTS):
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
        say(
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
        say(
            f"The server counts no tokens of prompts: {tokens.pair:.0f} for each pair of UUIDs are assumed."
        )
    found = plan(context, tokens, options.prompts)
    lacking = [lang for lang in options.languages if lang not in languages]
    left_out = [f"{lang} (not in the sample)" for lang in lacking]
    if left_out := [*left_out, *(f"{lang} (does not fit)" for lang in found.left_out)]:
        say(f"Languages that are left out: {', '.join(left_out)}.")
    say(
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


def say(*sentences: str) -> None:
    """Print sentences to the terminal, without control characters."""
    for sentence in sentences:
        print(printable(sentence), file=sys.stderr, flush=True)
