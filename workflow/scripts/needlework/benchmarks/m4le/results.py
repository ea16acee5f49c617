"""M4LE's results: its tables, what the printed numbers give, then its figures."""

from needlework.benchmarks.m4le import figures, tables
from needlework.benchmarks.m4le.factors import LENGTH
from needlework.benchmarks.m4le.figures import CALLED as CALLED
from needlework.benchmarks.m4le.tables import PROMPTS as PROMPTS
from needlework.results.result import results_in

DESIGNED = (LENGTH.name, ())
RESULTS = results_in(tables, figures)
