"""The last lines of a run: the outcomes of its requests, and where the results are."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.data.corpora.found import read_found
from needlework.models.accounts import Account, last_lines, read_account, write_account
from needlework.planning.inputs.own_data import own_tables
from needlework.planning.rule_inputs import RuleInputs
from needlework.printable import printable
from needlework.prompts.data_report import read_report
from needlework.results.page.terminal import wrapped
from needlework.services.endpoints import shown_url

if TYPE_CHECKING:
    from needlework.results.page.overview_page import Ran

# Beside the log of a job of answers, so that it exists if the job fails.
_ACCOUNTS = Path("logs/generate_answers")
_OWN_DATA = Path("results/own_data.json")


def accounts(files: RuleInputs) -> list[Account]:
    """The accounts of the run's jobs that have ended.

    A failure is reported until the job's answers exist.
    """
    found = [
        _mended(account, part) for path, part in _paths(files) if (account := read_account(path))
    ]
    return [replace(own, address=_address(files, own)) for own in found]


def _paths(files: RuleInputs) -> list[tuple[Path, str]]:
    """The files of the accounts of a run, each with the name of its part of the answers."""
    found = [
        (_ACCOUNTS / model / f"{benchmark}{part}.json", part)
        for model in files.models
        for benchmark in files.benchmarks
        for part in _parts(files, model)
    ]
    if judge := files.config.judge:
        found.append((Path("logs/judge_replies", f"{judge}.json"), ""))
    return found


def _address(files: RuleInputs, account: Account) -> str:
    """The configured address: the job may have run when there was another."""
    entry, url = files.config.models[account.model], None
    if entry.backend == "openai":
        url = entry.base_url
    elif entry.backend == "inspect":
        url = entry.args.get("base_url")
    return printable(shown_url(url), lines=False) if url else account.address


def begin(files: RuleInputs) -> None:
    """Mark in all accounts that nothing was sent in this run: their jobs ran in earlier runs."""
    for path, _ in _paths(files):
        if (account := read_account(path)) and account.sent_now:
            write_account(account.before(), path)


def _mended(account: Account, part: str) -> Account:
    if not account.failed:
        return account
    answers = Path("results/generations", account.model, f"{account.benchmark}{part}.parquet")
    return replace(account, failed="") if answers.is_file() else account


def _parts(files: RuleInputs, model: str) -> list[str]:
    shards = files.answers.answer_shards(model)
    return [f".{shard}" for shard in shards] if len(shards) > 1 else [""]


def own_data_warnings(files: RuleInputs) -> list[str]:
    """Warnings about omitted rows of the user's own data, and about prompts that it is too small for."""
    read = [Path(f"logs/read_corpus/{table}.json") for table in own_tables(files.prompts)]
    said = [found.said() for path in read if (found := read_found(path)) and found.lost]
    times = [path.stat().st_mtime for path in read if path.is_file()]
    # An older report is of other data.
    if times and _OWN_DATA.is_file() and _OWN_DATA.stat().st_mtime >= max(times):
        said += [sentence for sentence, enough in read_report(_OWN_DATA) if not enough]
    return list(dict.fromkeys(said))


def request_lines(files: RuleInputs, asked: Collection[str]) -> tuple[str, list[str]]:
    """How many requests were answered ("" if none was planned), and warnings about the others.

    `asked` are the run's rules: if a run asks no model, the requests of earlier runs are not mentioned.
    """
    asks = any(rule.startswith(("generate_", "merge_answers", "judge")) for rule in asked)
    first, *others = last_lines(accounts(files) if asks else []) or [""]
    return first, others


def result_lines(files: RuleInputs, asked: Collection[str]) -> list[str]:
    """How models compare, a line for each model, and where the results are; `asked` are the run's rules."""
    lines = []
    for name in files.benchmarks:
        if f"{name}_comparisons" in asked:
            text = Path(f"results/comparisons/{name}.txt")
            first = text.read_text(encoding="utf-8").partition("\n")[0]
            lines.append(wrapped(f"{first} More: {text}"))
    if "overview" in asked:
        lines += Path("results/summary.txt").read_text(encoding="utf-8").splitlines()
        lines.append("Open results/index.html to read the results.")
    return [*lines, *_answer_lines(files, asked)]


def _answer_lines(files: RuleInputs, asked: Collection[str]) -> list[str]:
    """What the target of a run found or wrote: the answer to its command."""
    lines = []
    if "doctor" in asked:
        for model in files.checkups.by_model:
            folder = Path("results/doctor", model)
            found = json.loads((folder / "doctor.json").read_text(encoding="utf-8"))
            lines += [wrapped(f"{found['sentence']} More: {folder / 'index.html'}")]
    for rule, path, what in (
        ("artifact", "results/artifact.crate.zip", "the run for reviewers"),
        ("export", "results/export", "prompts, and tasks of inspect_ai and lm-eval"),
    ):
        if rule in asked:
            lines.append(f"Wrote {path}: {what} ({_size(Path(path))}).")
    for rule in ("reproduction", "reproduction_without_models"):
        if rule in asked:
            file = Path(f"results/{rule}.csv")
            n = max(0, len(_lines(file)) - 1)
            lines.append(f"Wrote {file}, {n:,} printed numbers beside ours, and {rule}.svg.")
    return lines


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def _size(path: Path) -> str:
    """How many files a result is, and how large."""
    found: Iterable[Any] = path.rglob("*") if path.is_dir() else [path]
    sizes = [file.stat().st_size for file in found if file.is_file()]
    files = "1 file" if len(sizes) == 1 else f"{len(sizes):,} files"
    return f"{files}, {sum(sizes) / 1e6:.1f} MB"


def write_unfinished_page(files: RuleInputs, run: Ran, template: str) -> str:
    """Write the page from existing files, after a job of answers failed; return its path."""
    # The page needs packages that the process of Snakemake may lack.
    from needlework.results.page.overview_page import Front, write_unfinished

    page = "results/index.html"
    own_data = read_report(_OWN_DATA) if own_tables(files.prompts) else []
    front = Front(run, accounts(files), own_data)
    shown = {name: files.pages.overview(name) for name in files.benchmarks}
    write_unfinished(shown, files.models, template, page, front)
    return page
