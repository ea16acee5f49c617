"""results/index.html: what a run found, for a reader who opens one page."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from needlework import __version__
from needlework.atomic import atomic_write
from needlework.results import overview


def write_page(
    benchmarks: Mapping[str, Mapping[str, Any]],
    models: list[str],
    *,
    template: str | Path,
    target: str | Path,
    summary: str | Path | None = None,
    repeated: str | Path | None = None,
) -> None:
    """Write the page, and its first part alone as `summary`, which Snakemake's report shows.

    `benchmarks` have by name: title; closed_book as in `overview.grids`; scores, the files of all models;
    tables and figures, each by name its file (CSV, SVG), title and caption (reStructuredText, or None); of
    figures also their `numbers` (CSV). `repeated` as in `overview.warnings`.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    templates = Path(template).parent
    environment = Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.filters["percent"] = percent
    shown = {
        "version": __version__,
        "models": models,
        "benchmarks": [
            _part(name, own, Path(target).parent, repeated) for name, own in benchmarks.items()
        ],
    }
    pages = {Path(template).name: (target, "")}
    if summary is not None:
        # It stands on a page beside results/.
        pages["summary.html.j2"] = (summary, "results/")
    for name, (file, folder) in pages.items():
        page = environment.get_template(name).render(**shown, folder=folder)
        with atomic_write(file) as part:
            part.write_text(page, encoding="utf-8")


def _part(
    name: str, own: Mapping[str, Any], folder: Path, repeated: str | Path | None
) -> dict[str, Any]:
    """What the template shows of a benchmark."""
    scores = overview.read_scores(own["scores"])
    tables = [_table(table, entry, folder) for table, entry in own["tables"].items()]
    # The first that is drawn heads the benchmark.
    figures = [
        {
            **entry,
            "name": figure,
            "file": _beside(entry["file"], folder),
            "caption": _caption(entry),
            # In lines: reStructuredText refuses one of more than 10,000 characters.
            "data": base64.encodebytes(Path(entry["file"]).read_bytes()).decode("ascii"),
        }
        for figure, entry in own["figures"].items()
        if not overview.not_drawn(entry["file"])
    ]
    numbers = {name: entry["file"] for name, entry in own["tables"].items()}
    numbers |= {name: entry["numbers"] for name, entry in own["figures"].items()}
    return {
        "name": name,
        "title": own["title"],
        "grids": overview.grids(name, scores, own["closed_book"]),
        "warnings": overview.warnings(name, scores, repeated),
        "wrong": {
            model: overview.explorer(name, {"model": model}) for model in scores["model"].unique()
        },
        "agreement": overview.agreements(numbers),
        "tables": tables,
        "figures": figures,
        "not_drawn": {
            entry["title"]: why
            for entry in own["figures"].values()
            if (why := overview.not_drawn(entry["file"]))
        },
    }


def _table(name: str, entry: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A table as text, without columns that are empty."""
    head, rows = overview.read_csv(entry["file"])
    used = [i for i, _ in enumerate(head) if any(row[i] for row in rows)]
    shown = rows[: overview.MOST_ROWS]
    return {
        "name": name,
        "title": entry["title"],
        "caption": _caption(entry),
        "file": _beside(entry["file"], folder),
        "head": [head[i] for i in used],
        "rows": [[_short(row[i]) for i in used] for row in shown],
        "left": len(rows) - len(shown),
    }


def _beside(file: str, folder: Path) -> str:
    """A file's path from the page's folder."""
    return Path(file).relative_to(folder).as_posix()


def _short(text: str) -> str:
    """A number in a table to four digits; anything else as it is."""
    try:
        number = float(text)
    except ValueError:
        return text
    return text if number.is_integer() or len(text) < 7 else f"{number:.4g}"


def _caption(entry: Mapping[str, Any]) -> str | None:
    """A caption as HTML. It is the repository's own text, so its markup is trusted."""
    if not entry["caption"]:
        return None
    from docutils.core import publish_parts
    from markupsafe import Markup

    text = entry["caption"]
    quiet = {"file_insertion_enabled": False, "raw_enabled": False, "report_level": 5}
    return Markup(publish_parts(text, writer="html5", settings_overrides=quiet)["body"])


def percent(value: float) -> str:
    """0.523 as "52.3"."""
    return f"{100 * value:.1f}"
