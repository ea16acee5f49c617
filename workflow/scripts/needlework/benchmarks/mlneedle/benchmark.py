"""Multilingual Needle in a Haystack (Hengle et al., arXiv:2408.10151)."""

from needlework.benchmarks.benchmark import Benchmark
from needlework.benchmarks.mlneedle import drawings, plan
from needlework.benchmarks.mlneedle.factors import FACTORS
from needlework.benchmarks.mlneedle.layouts import PROMPTS
from needlework.benchmarks.mlneedle.results import RESULTS

PACKAGE = "needlework.benchmarks.mlneedle"

BENCHMARK = Benchmark(
    name=plan.NAME,
    title="MLNeedle",
    factors=FACTORS,
    results=RESULTS,
    called=drawings.FACTORS,
    slices=plan.slices,
    settings=plan.settings,
    reads=plan.reads,
    quotes=plan.quotes,
    spare=plan.spare,
    searches=plan.searches,
    search=plan.search,
    build=f"{PACKAGE}.construct:build",
    score=f"{PACKAGE}.scoring:score",
    beside=("bounded",),
    check=f"{PACKAGE}.checks:check",
    prompts=PROMPTS,
    setup={
        **{
            key: f"benchmarks.mlneedle.{key}"
            for key in (
                *("needles", "haystack", "aligned", "truncate_last"),
                *("metric", "answer_languages"),
            )
        },
        "mlqa_split": "sources.mlqa.split",
        "passages": "sources.mmarco.passages",
        "embedder": "embedder",
        "translator": "translator",
    },
    run=plan.run_settings,
    translated=True,
    metric=f"{PACKAGE}.scoring:metric",
    baselines=plan.baseline_slices,
)
