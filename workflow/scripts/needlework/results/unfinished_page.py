"""results/index.html of a run whose job failed: what became of the requests, and the results that there are.

Snakemake's own process writes it, which has jinja2 but may lack pandas: then the page has no numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from needlework.models.accounts import Account


def write_unfinished(
    benchmarks: Mapping[str, Mapping[str, Any]],
    models: Sequence[str],
    accounts: Sequence[Account],
    template: str | Path,
    target: str | Path,
    own_data: Sequence[tuple[str, bool]] = (),
    run: Mapping[str, Any] | None = None,
) -> None:
    """Write the page; arguments as in `overview_page.write_page`, of files some of which may be missing."""
    from needlework.results.overview_page import write_page

    there: dict[str, dict[str, Any]] = {}
    try:
        import pandas  # noqa: F401
        import pyarrow  # noqa: F401
    except ImportError:
        pass
    else:
        there = {name: own for name, all_ in benchmarks.items() if (own := _existing(all_))}
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    write = partial(
        write_page,
        template=template,
        target=target,
        accounts=accounts,
        own_data=own_data,
        unfinished=True,
        run=run,
    )
    try:
        write(there, list(models))
    except Exception:
        # Results of an earlier run may not fit these: the account matters more.
        write({}, list(models))


def _existing(own: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a benchmark that is there; nothing without any scores."""
    scores = [path for path in own["scores"] if Path(path).is_file()]
    if not scores:
        return {}
    results = {
        kind: {
            name: entry
            for name, entry in own[kind].items()
            if Path(entry["file"]).is_file() and Path(entry["numbers"]).is_file()
        }
        for kind in ("tables", "figures")
    }
    return {**own, **results, "scores": scores}
