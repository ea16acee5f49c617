"""ONERULER's tables: the numbers of `table_data`, laid out as `layouts` describes."""

from needlework.benchmarks.oneruler import table_data
from needlework.benchmarks.oneruler.layouts import LAYOUTS
from needlework.results.tables import Table

TITLES = {
    "accuracy": "Accuracy by task and length",
    "languages": "Accuracy by language",
    "lengths_tau": "Rank agreement of equal tokens and equal text",
    "errors": "Errors where the answer is in the text",
}
TABLES = {
    name: Table(title, getattr(table_data, name), LAYOUTS[name]) for name, title in TITLES.items()
}
