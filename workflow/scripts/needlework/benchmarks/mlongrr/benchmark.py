"""mLongRR, as the workflow sees it."""

from needlework.benchmarks.benchmark import Benchmark, Plan, RunFacts, Scoring, Shown
from needlework.benchmarks.mlongrr import figures, plan, tables
from needlework.benchmarks.mlongrr.card import CARD
from needlework.benchmarks.mlongrr.factors import ABSENT, FACTORS, LENGTH, RETRIEVAL
from needlework.benchmarks.mlongrr.metrics import METRICS
from needlework.results.result import results_in

BENCHMARK = Benchmark(
    name=plan.NAME,
    title="mLongRR",
    paper="https://arxiv.org/abs/2409.18006",
    factors=FACTORS,
    results=results_in(tables, figures),
    check=plan.check,
    plan=Plan(
        slices=plan.slices,
        settings=plan.settings,
        reads=plan.reads,
        quotes=plan.quotes,
        decided=plan.decided,
        spare=plan.spare,
    ),
    scoring=Scoring(
        metrics=METRICS,
        judged={ABSENT: "none"},
    ),
    shown=Shown(
        prompts=tables.PROMPTS,
        factors=figures.FACTORS,
        designed=(LENGTH.name, (RETRIEVAL,)),
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
