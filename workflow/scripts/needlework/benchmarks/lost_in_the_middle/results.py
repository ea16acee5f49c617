"""Lost in the Middle's results: tables of accuracies and of tokens, figures, ablations."""

from needlework.benchmarks.lost_in_the_middle import figures, tables
from needlework.benchmarks.lost_in_the_middle.factors import INDEX, QA
from needlework.benchmarks.lost_in_the_middle.figures import CALLED as CALLED
from needlework.benchmarks.lost_in_the_middle.tables import PROMPTS as PROMPTS
from needlework.results.result import results_in

DESIGNED = (INDEX.name, (QA,))
RESULTS = results_in(tables, figures)
