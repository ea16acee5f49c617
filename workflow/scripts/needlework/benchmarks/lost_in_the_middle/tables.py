"""The tables of Lost in the Middle: the numbers of `table_data`, laid out as `layouts` describes."""

from functools import partial

from needlework.benchmarks.lost_in_the_middle import table_data
from needlework.benchmarks.lost_in_the_middle.factors import QA_TABLES
from needlework.benchmarks.lost_in_the_middle.layouts import LAYOUTS
from needlework.results.tables import Table

TITLES = {
    "table1": "Accuracy without documents, and with the gold document alone",
    "table2": "Tokens of closed-book and oracle prompts",
    "table3": "Tokens of multi-document prompts",
    "table4": "Tokens of key-value prompts",
}
TABLES = {
    **{
        name: Table(title, getattr(table_data, name), LAYOUTS[name])
        for name, title in TITLES.items()
    },
    **{
        name: Table(
            f"Accuracy among {n} documents by the gold document's index",
            partial(table_data.by_index, n),
            LAYOUTS[name],
        )
        for n, name in QA_TABLES.items()
    },
    "accuracy": Table("Accuracy of every cell", table_data.accuracy, LAYOUTS["accuracy"]),
}
