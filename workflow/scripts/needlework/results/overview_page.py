"""results/index.html: what a run found, for a reader who opens one page."""

from __future__ import annotations

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
) -> None:
    """Write the page.

    `benchmarks` have by name: title; scores, the files of all models; tables and figures, each by name
    its file (CSV, SVG), title and caption (reStructuredText, or None).
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["percent"] = percent
    page = environment.from_string(Path(template).read_text(encoding="utf-8")).render(
        version=__version__,
        models=models,
        benchmarks=[_part(name, own, Path(target).parent) for name, own in benchmarks.items()],
    )
    with atomic_write(target) as part:
        part.write_text(page, encoding="utf-8")


def _part(name: str, own: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """What the template shows of a benchmark."""
    scores = overview.read_scores(own["scores"])
    tables = [_table(table, entry, folder) for table, entry in own["tables"].items()]
    figures = [
        {
            **entry,
            "name": figure,
            "file": _beside(entry["file"], folder),
            "caption": _caption(entry),
        }
        for figure, entry in own["figures"].items()
    ]
    return {
        "name": name,
        "title": own["title"],
        "grids": overview.grids(scores),
        "warnings": overview.warnings(name, scores),
        "wrong": {
            model: overview.explorer(name, {"model": model}) for model in scores["model"].unique()
        },
        "agreement": [
            found
            for table, entry in own["tables"].items()
            if (found := overview.agreement(table, entry["file"]))
        ],
        "tables": tables,
        "figures": figures,
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
