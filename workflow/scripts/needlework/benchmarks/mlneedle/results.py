"""MLNeedle's results: its tables, then its figures."""

from needlework.benchmarks.mlneedle import figures, tables
from needlework.benchmarks.mlneedle.factors import POSITION
from needlework.benchmarks.mlneedle.figures import CALLED as CALLED
from needlework.benchmarks.mlneedle.tables import PROMPTS as PROMPTS
from needlework.results.result import results_in

DESIGNED = (POSITION.name, ("exact",))
RESULTS = results_in(tables, figures)
