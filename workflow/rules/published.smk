# The numbers that the papers print: beside ours (`snakemake reproduction`, or `reproduction_without_models`,
# which asks no model), as one data set (`snakemake published`), and beside each other (`between_papers`).

# Every paper's, whatever the configuration runs.
PAPERS = [
    resource(f"published/{name}.csv")
    for name in ("lost_in_the_middle", "m4le", "mlneedle", "mlongrr", "oneruler")
]
# Scores and measured factors that exist already stand beside the papers' numbers; none are made.
RUN_SCORES = [
    path
    for name in BENCHMARKS
    if name in ("mlneedle", "oneruler")
    for path in files.scores.score_files(name)
    if Path(path).is_file()
]
RUN_FACTORS = [
    path for path in ["results/benchmark_factors.md"] if Path(path).is_file()
]
# The prompts of the run.
MEASURED = {
    name: files.prompts.of(name, files.prompts.text_tokenizer) for name in BENCHMARKS
}


for wanted, title in {
    "reproduction": "Every printed number",
    "reproduction_without_models": "Every printed number that needs no model",
}.items():
    beside = files.results.reproduced(with_models=wanted == "reproduction")

    rule:
        name:
            f"make_{wanted}"
        input:
            results=paths([own["results"] for own in beside.values()]),
            scores=paths([own["scores"] for own in beside.values()]),
            published=paths([own["published"] for own in beside.values()]),
            reasons=resource("reasons.csv"),
        output:
            csv=reproduced(f"results/{wanted}.csv", title),
            counts=f"results/{wanted}_reasons.csv",
            svg=reproduced(f"results/{wanted}.svg", title),
            pictures=[f"results/{wanted}.{ending}" for ending in ("pdf", "png")],
        log:
            f"logs/{wanted}.log",
        benchmark:
            f"benchmarks/{wanted}.tsv"
        conda:
            "../../envs/figures.yaml"
        resources:
            mem_mb=lambda w, attempt: 4000 * attempt,
            runtime=30,
        params:
            benchmarks=beside,
            # Numbers beside which there is a result.
            beside_alone=wanted == "reproduction_without_models",
            code=code_digest("make_reproduction.py"),
        message:
            f"{title} beside ours"
        script:
            "../scripts/make_reproduction.py"

    rule:
        name:
            wanted
        input:
            [f"results/{wanted}.{ending}" for ending in ("csv", "svg", "pdf", "png")],
            f"results/{wanted}_reasons.csv",
        localrule: True


rule write_published:
    input:
        published=PAPERS,
        labels=resource("printed_labels.yaml"),
    output:
        csv="results/published/numbers.csv",
        parquet="results/published/numbers.parquet",
        croissant="results/published/numbers.json",
        errata="results/published/errata.csv",
        records=directory("results/published/records"),
    log:
        "logs/write_published.log",
    benchmark:
        "benchmarks/write_published.tsv"
    localrule: True
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=code_digest("write_published.py"),
    message:
        "Writing the papers' numbers as a data set"
    script:
        "../scripts/write_published.py"


rule published:
    input:
        rules.write_published.output,
    localrule: True


rule between_papers:
    input:
        published=PAPERS,
        labels=resource("printed_labels.yaml"),
        scores=RUN_SCORES,
        factors=RUN_FACTORS,
    output:
        csv="results/between_papers.csv",
        page="results/between_papers.md",
        svg="results/between_papers.svg",
        pdf="results/between_papers.pdf",
        png="results/between_papers.png",
    log:
        "logs/between_papers.log",
    benchmark:
        "benchmarks/between_papers.tsv"
    localrule: True
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=code_digest("compare_papers.py"),
    message:
        "Comparing the papers with each other"
    script:
        "../scripts/compare_papers.py"


rule benchmark_factors:
    input:
        paths(MEASURED),
    output:
        csv="results/benchmark_factors.csv",
        page="results/benchmark_factors.md",
    log:
        "logs/benchmark_factors.log",
    benchmark:
        "benchmarks/benchmark_factors.tsv"
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=lambda w, attempt: 8000 * attempt,
        runtime=60,
    params:
        benchmarks=MEASURED,
        code=code_digest("measure_factors.py"),
    message:
        "Measuring what the prompts hold constant"
    script:
        "../scripts/measure_factors.py"
