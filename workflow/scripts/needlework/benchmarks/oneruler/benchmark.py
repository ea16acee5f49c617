"""ONERULER, as the workflow sees it."""

from needlework.benchmarks.benchmark import Benchmark, Plan, RunFacts, Scoring, Shown
from needlework.benchmarks.oneruler import figures, plan, tables
from needlework.benchmarks.oneruler.card import CARD
from needlework.benchmarks.oneruler.checks import check
from needlework.benchmarks.oneruler.factors import FACTORS, LENGTH, NIAH
from needlework.benchmarks.oneruler.metrics import METRICS
from needlework.results.result import results_in

BENCHMARK = Benchmark(
    name=plan.NAME,
    title="ONERULER",
    paper="https://arxiv.org/abs/2503.01996",
    factors=FACTORS,
    results=results_in(tables, figures),
    check=check,
    plan=Plan(
        slices=plan.slices,
        settings=plan.settings,
        reads=plan.reads,
        quotes=plan.quotes,
        # The longest answer takes all reserved tokens of a length.
        spare=lambda own: 0,
    ),
    scoring=Scoring(
        # An answer that quotes a book says nothing.
        scores_read="books",
        metrics=METRICS,
        judged={task: "none" if task == "niah_none" else "list" for task in plan.TASKS},
    ),
    shown=Shown(
        prompts=tables.PROMPTS,
        factors=figures.FACTORS,
        designed=(LENGTH.name, tuple(NIAH)),
        card=CARD,
    ),
    run=RunFacts(
        data=plan.data,
        setup=plan.SETUP,
        run_settings=plan.run_settings,
        conditions=plan.conditions,
        filled_by=plan.FILLED_BY,
    ),
)
