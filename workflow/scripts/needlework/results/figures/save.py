"""Figures on disk: SVG, PDF and PNG, the same bytes from the same figure, each in place at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.atomic import atomic_write
from needlework.results.figures.style import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PNG_DPI = 200
# No file says when, or with which release, it was drawn.
METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def save_figure(figure: Figure, stem: str | Path) -> None:
    """Write `<stem>.svg`, `<stem>.pdf` and `<stem>.png`.

    Each is written beside its place and then moved there, so that no half-written file is left. The
    figure is laid out once, and so keeps that layout: three times would cost more than all drawing.
    """
    from matplotlib import rc_context

    stem = Path(stem)
    # Fonts, salt and layout are read from the settings when a figure is laid out or written.
    with style():
        figure.draw_without_rendering()
    with style(), rc_context({"figure.constrained_layout.use": False}):
        figure.set_layout_engine(None)
        for kind, metadata in METADATA.items():
            with atomic_write(stem.with_name(f"{stem.name}.{kind}")) as part:
                figure.savefig(part, format=kind, metadata=metadata, dpi=PNG_DPI)
