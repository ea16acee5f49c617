"""The doctor's page: its verdict, its checks, where answers are right, and the evidence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.atomic import atomic_write
from needlework.data.language_names import language_name

if TYPE_CHECKING:
    from markupsafe import Markup

    from needlework.results.doctor.report import Report

# Each verdict's sign, for those who see no colour.
SIGNS: dict[str, str] = {"sound": "✓", "fault": "✗", "cannot tell": "?"}
# Characters of a text that are shown.
_LONGEST = 2000
# Characters that no page can show, or that turn the direction of all text after them.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
_PLACES = {0.0: "beginning", 0.5: "middle", 1.0: "end"}


def write_page(found: Report, templates: str | Path, path: str | Path) -> None:
    """Write a report as one HTML file without scripts.

    `templates` is resources/doctor; its neighbour overview has the style of all pages.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([templates, Path(templates).parent / "overview"]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.filters |= {"code": _code, "markdown": _markdown, "language": language_name}
    shown = _shown(found)
    grids = [_grid(part) for part in shown["where"]]
    page = environment.get_template("index.html.j2").render(**shown, signs=SIGNS, grids=grids)
    with atomic_write(path) as written:
        written.write_text(page, encoding="utf-8")


def _shown(value: Any) -> Any:
    """A value whose texts, also in lists and dicts, are bounded and have no character that is not seen."""
    if isinstance(value, dict):
        return {_shown(key): _shown(own) for key, own in value.items()}
    if isinstance(value, list):
        return [_shown(own) for own in value]
    if not isinstance(value, str):
        return value
    text = value if len(value) <= _LONGEST else f"{value[:_LONGEST]} …"
    return _UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text.replace("\r\n", "\n"))


def _grid(part: dict[str, Any]) -> dict[str, Any]:
    """The cells of a part as rows by place, each with a cell, or None, for each length."""
    cells = {(cell["place"], cell["size"]): cell for cell in part["cells"]}
    return {
        # A benchmark of one task has its name twice.
        "title": " ".join(dict.fromkeys(part["part"].split())).replace("_", " "),
        "sizes": part["sizes"],
        "rows": {
            _PLACES.get(place, f"{100 * place:.0f}%"): [
                cells.get((place, size["size"])) for size in part["sizes"]
            ]
            for place in sorted({place for place, _ in cells})
        },
    }


def _code(text: str) -> Markup:
    """A text as HTML, with what stands in backticks as code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"(?<!\\)`([^`]+)(?<!\\)`", r"<code>\1</code>", str(escape(text))))


def _markdown(line: str) -> Markup:
    """A line of Markdown (`comparison.escaped`) as HTML: code, bold, and escaped characters."""
    from markupsafe import Markup

    text = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", str(_code(line)))
    return Markup(re.sub(r"\\(&lt;|&gt;|[\\|`*\[\]])", r"\1", text))
