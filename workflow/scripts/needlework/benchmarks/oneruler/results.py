"""ONERULER's results: its tables, then its figures."""

from needlework.benchmarks.oneruler import figures, tables
from needlework.benchmarks.oneruler.factors import LENGTH, NIAH
from needlework.benchmarks.oneruler.figures import CALLED as CALLED
from needlework.benchmarks.oneruler.tables import PROMPTS as PROMPTS
from needlework.results.result import results_in

DESIGNED = (LENGTH.name, tuple(NIAH))
RESULTS = results_in(tables, figures)
