r"""Tables as LaTeX that compiles with booktabs, whatever the names in them contain."""

from __future__ import annotations

from collections.abc import Sequence

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def escape(text: str) -> str:
    """Text as LaTeX prints it: special characters escaped, line breaks turned into spaces."""
    return "".join(_SPECIAL.get(character, character) for character in " ".join(text.split()))


def table(
    head: Sequence[Sequence[str]],
    body: Sequence[Sequence[str] | None],
    *,
    columns: str,
    caption: str,
    label: str,
    note: str = "",
    wide: bool = False,
) -> str:
    r"""A floating table.

    `head` and `body` hold rows of cells that are LaTeX already (escape names first); None in `body`
    is a little space between blocks. `columns` is the tabular's column specification, `caption` and
    `note` are LaTeX, `wide` spans both columns of a two-column page. The file says which packages it
    needs.
    """
    environment = "table*" if wide else "table"
    lines = [
        r"% \usepackage{booktabs}",
        rf"\begin{{{environment}}}[t]",
        r"\centering\small\setlength{\tabcolsep}{4pt}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        *(_row(cells) for cells in head),
        r"\midrule",
        *(r"\addlinespace" if cells is None else _row(cells) for cells in body),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{caption}}}",
        rf"\label{{{label}}}",
        *([rf"\par\smallskip\footnotesize {note}"] if note else []),
        rf"\end{{{environment}}}",
    ]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    # A bracket at the start of a row would be read as the length argument of the \\ before it.
    row = " & ".join(cells)
    return ("{}" if row.startswith(("[", "*")) else "") + row + r" \\"
