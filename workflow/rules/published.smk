# All numbers that the papers print as one data set: `snakemake published`.

from needlework.planning.layout import resource

# Every paper's, whatever the configuration runs.
PAPERS = [
    resource(f"published/{name}.csv")
    for name in ("lost_in_the_middle", "m4le", "mlneedle", "mlongrr", "oneruler")
]


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


# A run's scores that are there already stand beside the papers'; none are made.
RUN_SCORES = [
    path
    for name in config["run"]["benchmarks"]
    if name in ("mlneedle", "oneruler")
    for path in expand(
        "results/scores/{model}/{benchmark}.parquet",
        model=config["run"]["models"],
        benchmark=name,
    )
    if Path(path).is_file()
]


rule between_papers:
    input:
        published=PAPERS,
        labels=resource("printed_labels.yaml"),
        scores=RUN_SCORES,
        # The run's, where `benchmark_factors` has measured them.
        factors=[
            path for path in ["results/benchmark_factors.md"] if Path(path).is_file()
        ],
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


# Of the run's own prompts, which are built for it.
MEASURED = {
    name: prompts(name, files.text_tokenizer) for name in config["run"]["benchmarks"]
}


rule benchmark_factors:
    input:
        [path for own in MEASURED.values() for part in own.values() for path in part],
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
