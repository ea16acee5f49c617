"""Lost in the Middle (Liu et al., arXiv:2307.03172).

Sections 3 (multi-document question answering), 4 (key-value retrieval), 5.2 (the query before and after
the data), 6 (open-domain case study), appendices A to C.
"""

from needlework.benchmarks.benchmark import Benchmark
from needlework.benchmarks.lost_in_the_middle import drawings, plan
from needlework.benchmarks.lost_in_the_middle.factors import FACTORS
from needlework.benchmarks.lost_in_the_middle.layouts import PROMPTS
from needlework.benchmarks.lost_in_the_middle.results import RESULTS

PACKAGE = "needlework.benchmarks.lost_in_the_middle"
BLOCK = "benchmarks.lost_in_the_middle"

BENCHMARK = Benchmark(
    name=plan.NAME,
    title="Lost in the Middle",
    factors=FACTORS,
    results=RESULTS,
    called=drawings.FACTORS,
    slices=plan.slices,
    settings=plan.settings,
    reads=plan.reads,
    quotes=plan.quotes,
    searches=plan.searches,
    search=plan.search,
    conditions=plan.conditions,
    build=f"{PACKAGE}.construct:build",
    score=f"{PACKAGE}.scoring:score",
    check=f"{PACKAGE}.checks:check",
    prompts=PROMPTS,
    setup={
        "corpus": f"{BLOCK}.needles",
        **{key: f"{BLOCK}.{key}" for key in ("source", "gold_without_answer", "max_new_tokens")},
    },
    run=plan.run_settings,
)
