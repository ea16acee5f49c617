"""mLongRR's results: tables of its prompts, tables of answers, figures."""

from needlework.benchmarks.mlongrr import figures, tables
from needlework.benchmarks.mlongrr.factors import LENGTH, RETRIEVAL
from needlework.benchmarks.mlongrr.figures import CALLED as CALLED
from needlework.benchmarks.mlongrr.tables import PROMPTS as PROMPTS
from needlework.results.result import results_in

DESIGNED = (LENGTH.name, (RETRIEVAL,))
RESULTS = results_in(tables, figures)
