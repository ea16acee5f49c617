"""Tables as HTML: what stands in a cell, what it is sorted by, and that no text is markup."""

from __future__ import annotations

from xml.etree import ElementTree

import pandas as pd

from needlework.factor import Factor, in_1024
from needlework.results.result import INCOMPLETE, FurtherLine, Grid, Mark, Number
from needlework.results.written_tables import MOST_ROWS, html_table

GRID = Grid(
    rows=(Factor("model", label="Model"),),
    columns=(Factor("length", label="Context", format=in_1024), Factor("metric")),
    lines=(FurtherLine("failed", ("n_error",), Number(0), "n_error > 0"),),
    marks=(Mark("value > 0.7", "high", underline=True),),
    note="Shares.",
)


def frame(
    models: tuple[str, ...] = ("a", "b"), lengths: tuple[int, ...] = (1024, 2048)
) -> pd.DataFrame:
    """A row for each model and length."""
    return pd.DataFrame(
        {
            **{"model": model, "source": "ours", "length": length, "metric": "strict"},
            **{"value": 0.5 + 0.25 * i, "n": 1200, "ci_low": 0.25, "ci_high": 1.0},
            **{"published": 0.25, "comparison": "above", "n_error": 3 * i, "n_skipped": 0},
        }
        for i, model in enumerate(models)
        for length in lengths
    )


def parsed(text: str) -> ElementTree.Element:
    """The fragment as a tree."""
    return ElementTree.fromstring(f"<div>{text.replace('<br>', '<br/>')}</div>")


def test_a_cell_has_number_interval_paper_and_lines() -> None:
    text = html_table(frame(), (GRID,), "Accuracy")
    cells = parsed(text).findall(".//tbody/tr/td")
    assert [cell.get("data-v") for cell in cells] == ["0.5", "0.5", "0.75", "0.75"]
    assert ElementTree.tostring(cells[2], "unicode") == (
        '<td data-v="0.75"><u>0.750</u><br /><small>[.250, 1.000]</small><br /><i>0.250</i>'
        "<sup>&gt;</sup><br /><small>failed: 3</small></td>"
    )
    heads = ["".join(head.itertext()) for head in parsed(text).findall(".//thead//th")]
    assert heads == ["Context", "1K", "2K", "Model", "strictn 1,200", "strictn 1,200"]
    notes = "".join(parsed(text).itertext())
    said = ("Shares. Underlined: high.", "Brackets: 95%", "6 requests failed")
    assert all(part in notes for part in said)


def test_notes_explain_the_signs_that_occur() -> None:
    above, other = "&gt;: our interval lies above it.", "?: the two cannot be compared"
    text = html_table(frame(), (GRID,), "Accuracy")
    assert above in text and other not in text
    data = frame().assign(comparison=["above", "cannot tell: x", "cannot tell: x", "covers"])
    text = html_table(data, (GRID,), "Accuracy")
    assert all(part in text for part in (above, other, "=: our interval covers it"))
    assert "&lt;:" not in text and "≠" not in text


def test_each_row_has_a_cell_for_each_column() -> None:
    """Sorting takes a column's cells by their place."""
    two = Grid(rows=(Factor("model"), Factor("lang")), columns=(Factor("length"),))
    data = pd.concat([frame().assign(lang=lang) for lang in ("en", "de")]).iloc[:-1]
    rows = parsed(html_table(data, (two,), "T")).findall(".//tbody/tr")
    assert [len(row) for row in rows] == [4] * 4
    assert [row[0].text for row in rows] == ["a", "b", "a", "b"]
    assert rows[3][3].text == "–" and rows[3][3].get("data-v") is None


def test_the_papers_rows_are_in_italics() -> None:
    theirs = frame(("Theirs",)).assign(source="published")
    first = parsed(html_table(theirs, (GRID,), "T")).find(".//tbody/tr")
    assert first is not None
    assert "".join(first[0].itertext()) == "Theirs (paper)" and first[1].find("i") is not None


def test_names_are_no_markup_and_tables_end() -> None:
    hostile = "<script>alert(1)</script>"
    text = html_table(frame((hostile,)), (GRID,), hostile)
    assert "<script" not in text and text.count("&lt;script&gt;") == 2
    long = frame(tuple(f"m{i:04}" for i in range(MOST_ROWS + 20)), (1024,))
    text = html_table(long, (GRID,), "T")
    assert text.count("<tr>") == MOST_ROWS + 3 and "20 more rows are in the CSV." in text
    text = html_table(frame().iloc[:0], (GRID,), "T")
    assert "no scores" in "".join(parsed(text).itertext())


def test_marks_of_lacking_answers_are_explained() -> None:
    text = html_table(frame().assign(n_error=400, lowest=0.1, highest=0.9), (GRID,), "T")
    # At four numbers, and in the note.
    assert text.count("<sup>‡</sup>") == 5 and f"<sup>‡</sup>: {INCOMPLETE.note}." in text
    assert "if wrong, if right: 0.100, 0.900" in text
