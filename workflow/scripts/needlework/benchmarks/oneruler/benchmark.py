"""ONERULER (Kim et al., arXiv:2503.01996)."""

from needlework.benchmarks.benchmark import Benchmark
from needlework.benchmarks.oneruler import drawings, plan
from needlework.benchmarks.oneruler.factors import FACTORS
from needlework.benchmarks.oneruler.layouts import PROMPTS
from needlework.benchmarks.oneruler.results import RESULTS

PACKAGE = "needlework.benchmarks.oneruler"

BENCHMARK = Benchmark(
    name=plan.NAME,
    title="ONERULER",
    factors=FACTORS,
    results=RESULTS,
    called=drawings.FACTORS,
    slices=plan.slices,
    settings=plan.settings,
    reads=plan.reads,
    quotes=plan.quotes,
    spare=plan.spare,
    conditions=plan.conditions,
    build=f"{PACKAGE}.construct:build",
    score=f"{PACKAGE}.scoring:score",
    check=f"{PACKAGE}.checks:check",
    scoring_files={"phrases": "oneruler/none_phrases.yaml"},
    # An answer that quotes a book says nothing.
    scores_read="books",
    prompts=PROMPTS,
    setup={
        key: f"benchmarks.oneruler.{key}"
        for key in ("data", "haystack", "multiquery_needles", "cwe_frequencies")
    },
    run=plan.run_settings,
)
