"""The front of the page of results: what was run, and whether the controls say that it can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from needlework.models.accounts import UNANSWERED
from needlework.results.clone import workflow

if TYPE_CHECKING:
    import pandas as pd

# What a built-in reader of a backend scores in every prompt, and what it is.
CONTROLS = {
    "oracle": (1.0, "answers with the references and is right in"),
    "empty": (0.0, "answers nothing and is wrong in"),
}
# Less than this is rounding.
ROUNDING = 1e-6


class Said(NamedTuple):
    """A sentence, and where the explorer shows the answers that it is about, if any are wrong."""

    text: str
    link: str = ""


def shown_models(models: Sequence[str], readers: Collection[str]) -> list[str]:
    """The models that means and cards are of: not the built-in readers, unless there is nothing else."""
    return [model for model in models if model not in readers] or list(models)


def what_was_run(run: Mapping[str, Any]) -> dict[str, Any]:
    """`run` (`write_page`) with the version, the commit and today's date."""
    found = workflow()
    commit = (found["commit"] or "")[:10]
    return {
        "files": [],
        "models": {},
        "readers": {},
        "data": {},
        **run,
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit and commit + (", changed since" if found["modified"] else ""),
    }


def control_sentences(
    scores: Mapping[str, pd.DataFrame],
    titles: Mapping[str, str],
    readers: Mapping[str, str],
    explorer: Callable[[str, Mapping[str, str]], str],
) -> list[Said]:
    """Whether each control scores what it must, in all benchmarks; one sentence if it does.

    `scores` and `titles` are by benchmark, `readers` the backends of built-in readers, `explorer` gives the
    address of a view.
    """
    held, faults = [], []
    for reader, backend in readers.items():
        if backend not in CONTROLS:
            continue
        value, does = CONTROLS[backend]
        n = 0
        for benchmark, own in scores.items():
            mine = _headline(own[own["model"] == reader])
            off = int(((mine["value"] - value).abs() > ROUNDING).sum())
            n += len(mine)
            if off:
                text = (
                    f"{reader}, which {does} every prompt, does not score {value:.0%} in {off:,} of "
                    f"{len(mine):,} of {titles[benchmark]}: look for a fault of construction or scoring"
                )
                faults.append(Said(text, explorer(benchmark, {"model": reader})))
        if n:
            held.append(f"{reader} {does} all {n:,} prompts")
    if faults or not held:
        return faults
    return [Said(f"Self-check of construction and scoring passed: {', and '.join(held)}.")]


def _headline(scores: pd.DataFrame) -> pd.DataFrame:
    """The answers that were given, each by its first metric."""
    given = scores[~scores["finish_reason"].isin(UNANSWERED)]
    return given.drop_duplicates(["instance_id", "sample"])


def cards(files: Sequence[str | Path], folder: Path) -> Iterator[dict[str, str]]:
    """The report cards for the page in `folder`.

    `files` are results/cards/page/<model>.svg. The complete card and its text are one folder above.
    """
    import base64

    for file in map(Path, files):
        whole = file.parent.parent / file.name
        text = whole.with_suffix(".txt").read_text(encoding="utf-8")
        said, _, legend = text.strip().partition("\n")
        yield {
            "model": file.stem,
            "file": file.relative_to(folder).as_posix(),
            "stem": whole.with_suffix("").relative_to(folder).as_posix(),
            "sentence": said,
            "legend": legend,
            "data": base64.encodebytes(file.read_bytes()).decode("ascii"),
        }
