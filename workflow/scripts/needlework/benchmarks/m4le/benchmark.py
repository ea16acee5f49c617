"""M4LE, as the workflow sees it."""

from needlework.benchmarks.benchmark import Benchmark, Plan, RunFacts, Scoring, Shown
from needlework.benchmarks.m4le import figures, plan, tables
from needlework.benchmarks.m4le.card import CARD
from needlework.benchmarks.m4le.checks import check
from needlework.benchmarks.m4le.data.tasks import CONSTRUCTED
from needlework.benchmarks.m4le.factors import FACTORS, LENGTH
from needlework.benchmarks.m4le.metrics import METRICS
from needlework.results.result import results_in

BENCHMARK = Benchmark(
    name=plan.NAME,
    title="M4LE",
    paper="https://arxiv.org/abs/2310.19240",
    factors=FACTORS,
    results=results_in(tables, figures),
    check=check,
    plan=Plan(
        slices=plan.slices,
        settings=plan.settings,
        reads=plan.reads,
        quotes=plan.quotes,
        notices=plan.notices,
        corpus_settings=plan.corpus_settings,
        corpus_files=plan.corpus_files,
    ),
    scoring=Scoring(
        scored_by=("accepted",),
        metrics=METRICS,
        judged={name: "list" for name, task in CONSTRUCTED.items() if task.metric == "f1"},
    ),
    shown=Shown(
        prompts=tables.PROMPTS,
        factors=figures.FACTORS,
        designed=(LENGTH.name, ()),
        card=CARD,
        # Questions that are asked without their texts have none to choose from.
        closed_book=("candidates", 0),
    ),
    run=RunFacts(
        data=plan.data,
        setup=plan.SETUP,
        run_settings=plan.run_settings,
        conditions=plan.conditions,
        filled_by=plan.FILLED_BY,
    ),
)
