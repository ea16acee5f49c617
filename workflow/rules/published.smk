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
