"""Figures as SVG, PDF and PNG files: reproducible to the byte, and written atomically."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.atomic import atomic_write
from needlework.results.drawing.style import DARK, DARK_GROUND, DARK_INK, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PNG_DPI = 200
# No file says when, or with which release, it was drawn.
METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}
KINDS = tuple(METADATA)

# Of shares of a page.
_DECIMALS = 6


def _dark() -> str:
    """The style sheet of an SVG for readers with a dark scheme.

    A figure in a page has no ground of its own, and text has the page's colour; a file has a dark ground. The
    colours in the file stay those of print, which programs without media queries show.
    """
    rules = [
        f":root.drawn{{color:{DARK_INK};background:{DARK_GROUND}}}",
        "svg.drawn{fill:currentColor}",
        *(
            f'.drawn [style*="{name}: {light}"]{{{name}:{dark}!important}}'
            for light, dark in DARK.items()
            for name in ("fill", "stroke")
        ),
        '.drawn [id*="patch_"]>[style*="fill: #ffffff"]{fill:none!important}',
    ]
    return f"@media (prefers-color-scheme:dark){{{''.join(rules)}}}"


DARK_STYLE = f'<style type="text/css">{_dark()}</style>'


def save_figure(pages: Sequence[Figure], stem: str | Path, kinds: Sequence[str] = KINDS) -> None:
    """Write `<stem>.svg`, `<stem>.pdf` and `<stem>.png`, or some of these `kinds`.

    The PDF has a page for each of `pages`; in the others one stands below the other. Each file is
    written beside its place and then moved there, so that no half-written file is left. A page is laid
    out once for all files, since layout costs more than drawing.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_pdf import PdfPages

    stem = Path(stem)
    # Fonts, salt and layout are read from the settings when a figure is laid out or written; a page that
    # has no layout of its own gets the settings' one.
    with style(), rc_context({"figure.constrained_layout.use": False}):
        for page in pages:
            # A page of words alone has nothing to lay out.
            if page.axes and (engine := page.get_layout_engine()) is not None:
                engine.execute(page)
            page.set_layout_engine(None)
            for ax in page.axes:
                # Layouts differ between processes in the last bits, and an SVG's ids are hashes of positions.
                bounds = ax.get_position(original=True).bounds
                left, bottom, width, height = (round(bound, _DECIMALS) for bound in bounds)
                ax.set_position((left, bottom, width, height))
        for kind in kinds:
            metadata = METADATA[kind]
            with atomic_write(stem.with_name(f"{stem.name}.{kind}")) as part:
                if kind == "pdf":
                    with PdfPages(part, metadata=metadata) as pdf:
                        for page in pages:
                            pdf.savefig(page)
                    continue
                found = []
                for page in pages:
                    data = BytesIO()
                    page.savefig(data, format=kind, metadata=metadata, dpi=PNG_DPI)
                    found.append(data.getvalue())
                if kind == "svg":
                    texts = [page.decode() for page in found]
                    text = texts[0] if len(texts) == 1 else _below_each_other(texts)
                    part.write_text(_with_dark_style(text), encoding="utf-8")
                elif len(pages) == 1:
                    part.write_bytes(found[0])
                else:
                    _stack(found, part)


def save_notes(pages: Sequence[Figure], path: str | Path) -> None:
    """Write the small print of all pages (their labels) as a text file."""
    notes = dict.fromkeys(str(page.get_label()) for page in pages)
    with atomic_write(path) as part:
        part.write_text("".join(f"{text}\n" for text in notes if text), encoding="utf-8")


def _with_dark_style(svg: str) -> str:
    """The same SVG with the style sheet for dark pages."""
    start = svg.index("<svg ")
    end = svg.index(">", start) + 1
    root = svg[start:end].replace("<svg ", '<svg class="drawn" ', 1)
    return f"{svg[:start]}{root}\n {DARK_STYLE}{svg[end:]}"


def _below_each_other(pages: Sequence[str]) -> str:
    """SVGs in one; what they name by an id bears the page's number."""
    shapes = [re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', page) for page in pages]
    sizes = [(float(shape[1]), float(shape[2])) for shape in shapes if shape]
    width, height = max(width for width, _ in sizes), sum(height for _, height in sizes)
    head, top = pages[0][: pages[0].index("<svg ")], 0.0
    parts = [
        f'{head}<svg xmlns="http://www.w3.org/2000/svg" width="{width:.2f}pt" height="{height:.2f}pt" '
        f'viewBox="0 0 {width:.2f} {height:.2f}" version="1.1">\n'
    ]
    for i, (page, (_, own)) in enumerate(zip(pages, sizes, strict=True), 1):
        page = re.sub(r'( id="|href="#|url\(#)', rf"\1page{i}_", page[page.index("<svg ") :])
        parts.append(page.replace("<svg ", f'<svg y="{top:.2f}" ', 1))
        top += own
    return "".join([*parts, "</svg>\n"])


def _stack(pages: Sequence[bytes], path: Path) -> None:
    """PNGs in one, on white."""
    import numpy as np
    from matplotlib.image import imread, imsave

    images = [imread(BytesIO(page), format="png") for page in pages]
    width = max(image.shape[1] for image in images)
    wide = [np.pad(i, ((0, 0), (0, width - i.shape[1]), (0, 0)), constant_values=1) for i in images]
    imsave(path, np.vstack(wide), format="png", dpi=PNG_DPI, metadata=METADATA["png"])
