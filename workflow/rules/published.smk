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
