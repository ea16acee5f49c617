"""mLongRR (Agrawal et al. 2024, Multilingual Long-Context Models for Retrieval and Reasoning)."""

from needlework.benchmarks.benchmark import Benchmark
from needlework.benchmarks.mlongrr import drawings, plan
from needlework.benchmarks.mlongrr.factors import FACTORS
from needlework.benchmarks.mlongrr.layouts import PROMPTS
from needlework.benchmarks.mlongrr.results import RESULTS

PACKAGE = "needlework.benchmarks.mlongrr"

BENCHMARK = Benchmark(
    name=plan.NAME,
    title="mLongRR",
    factors=FACTORS,
    results=RESULTS,
    called=drawings.FACTORS,
    decided=plan.decided,
    slices=plan.slices,
    settings=plan.settings,
    reads=plan.reads,
    quotes=plan.quotes,
    spare=plan.spare,
    conditions=plan.conditions,
    build=f"{PACKAGE}.construct:build",
    score=f"{PACKAGE}.scoring:score",
    check=f"{PACKAGE}.checks:check",
    prompts=PROMPTS,
    setup={
        key: f"benchmarks.mlongrr.{key}" for key in ("source", "data", "examples", "max_new_tokens")
    },
    run=plan.run_settings,
)
