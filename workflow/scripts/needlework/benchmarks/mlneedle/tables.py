"""MLNeedle's tables: the numbers of `table_data`, laid out as `layouts` describes."""

from needlework.benchmarks.mlneedle import table_data
from needlework.benchmarks.mlneedle.layouts import LAYOUTS
from needlework.results.tables import Table

TITLES = {
    "table1": "Accuracy by context length",
    "table2": "Accuracy by needle and haystack language",
    "table3": "Base and instruction-tuned models",
    "table4": "Greedy decoding and sampling",
    "existence": "Existence accuracy with and without the needle",
    "closed_book": "Accuracy without passages",
    "translation_ceiling": "Gold answers that survive translation",
}
TABLES = {
    name: Table(title, getattr(table_data, name), LAYOUTS[name]) for name, title in TITLES.items()
}
