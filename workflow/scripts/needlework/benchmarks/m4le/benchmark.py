"""M4LE (Kwan et al., arXiv:2310.19240)."""

from needlework.benchmarks.benchmark import Benchmark
from needlework.benchmarks.m4le import plan
from needlework.benchmarks.m4le.drawings import CALLED
from needlework.benchmarks.m4le.factors import FACTORS
from needlework.benchmarks.m4le.layouts import PROMPTS
from needlework.benchmarks.m4le.results import RESULTS

PACKAGE = "needlework.benchmarks.m4le"

BENCHMARK = Benchmark(
    name=plan.NAME,
    title="M4LE",
    factors=FACTORS,
    results=RESULTS,
    called=CALLED,
    notices=plan.notices,
    slices=plan.slices,
    settings=plan.settings,
    reads=plan.reads,
    quotes=plan.quotes,
    conditions=plan.conditions,
    build=f"{PACKAGE}.construct:build",
    score=f"{PACKAGE}.scoring:score",
    scored_by=("accepted",),
    check=f"{PACKAGE}.checks:check",
    prompts=PROMPTS,
    closed_book=("candidates", 0),
    setup={
        **{key: f"benchmarks.m4le.{key}" for key in ("source", "release", "metric", "reference")},
        "max_new_tokens": "benchmarks.m4le.max_new_tokens.preset",
    },
    run=plan.run_settings,
    corpus_settings=plan.corpus_settings,
    corpus_files=plan.corpus_files,
)
