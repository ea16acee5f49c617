"""Lost in the Middle, as the workflow sees it."""

from needlework.benchmarks.benchmark import Benchmark, Plan, RunFacts, Scoring, Shown
from needlework.benchmarks.lost_in_the_middle import figures, plan, tables
from needlework.benchmarks.lost_in_the_middle.card import CARD
from needlework.benchmarks.lost_in_the_middle.checks import check
from needlework.benchmarks.lost_in_the_middle.factors import FACTORS, INDEX, QA
from needlework.benchmarks.lost_in_the_middle.metrics import METRICS
from needlework.results.result import results_in

BENCHMARK = Benchmark(
    name=plan.NAME,
    title="Lost in the Middle",
    paper="https://arxiv.org/abs/2307.03172",
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
        decided=plan.decided,
        notices=plan.notices,
    ),
    scoring=Scoring(metrics=METRICS),
    shown=Shown(
        prompts=tables.PROMPTS, factors=figures.FACTORS, designed=(INDEX.name, (QA,)), card=CARD
    ),
    run=RunFacts(
        data=plan.data,
        setup=plan.SETUP,
        run_settings=plan.run_settings,
        conditions=plan.conditions,
        filled_by=plan.FILLED_BY,
    ),
)
