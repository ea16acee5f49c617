"""MLNeedle, as the workflow sees it."""

from needlework.benchmarks.benchmark import Benchmark, Plan, RunFacts, Scoring, Shown
from needlework.benchmarks.mlneedle import figures, plan, tables
from needlework.benchmarks.mlneedle.card import CARD
from needlework.benchmarks.mlneedle.checks import check
from needlework.benchmarks.mlneedle.factors import FACTORS, POSITION
from needlework.benchmarks.mlneedle.metrics import METRICS
from needlework.results.result import results_in

BENCHMARK = Benchmark(
    name=plan.NAME,
    title="MLNeedle",
    paper="https://arxiv.org/abs/2408.10151",
    factors=FACTORS,
    results=results_in(tables, figures),
    check=check,
    plan=Plan(
        slices=plan.slices,
        settings=plan.settings,
        reads=plan.reads,
        quotes=plan.quotes,
        searches=plan.searches,
        search=plan.search,
        baseline_slices=plan.baseline_slices,
        notices=plan.notices,
        spare=plan.spare,
    ),
    scoring=Scoring(
        # The two verdicts of existence, as the prompt words them.
        scored_by=("accepted",),
        metrics=METRICS,
        judged={"existence": "yes_or_no"},
        translated=plan.translated,
    ),
    shown=Shown(
        prompts=tables.PROMPTS,
        factors=figures.FACTORS,
        designed=(POSITION.name, ("exact",)),
        card=CARD,
        # Without a haystack: the question alone, or the needle alone.
        closed_book=("length", 0),
    ),
    run=RunFacts(
        data=plan.data,
        setup=plan.SETUP,
        run_settings=plan.run_settings,
        conditions=plan.conditions,
        filled_by=plan.FILLED_BY,
    ),
)
