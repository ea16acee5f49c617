"""Lost in the Middle's results: tables of accuracies and of tokens, figures, ablations."""

from needlework.benchmarks.lost_in_the_middle import ablations, figures, tables, token_tables
from needlework.benchmarks.lost_in_the_middle.factors import INDEX, QA
from needlework.benchmarks.lost_in_the_middle.figures import CALLED as CALLED
from needlework.benchmarks.lost_in_the_middle.token_tables import PROMPTS as PROMPTS
from needlework.results.result import results_in

DESIGNED = (INDEX.name, (QA,))
RESULTS = results_in(tables, token_tables, figures, ablations)
