# What the user's own data hold: `snakemake own_data` says it before prompts are built.

from needlework.planning.own_data import own_tables, own_uses

OWN_TABLES = own_tables(files)
OWN_DATA = "results/own_data.json"


rule own_data:
    input:
        expand("results/corpora/{table}.parquet", table=OWN_TABLES),
    output:
        "results/own_data.json",
    log:
        "logs/own_data.log",
    benchmark:
        "benchmarks/own_data.tsv"
    priority: 100
    conda:
        "../../envs/instances.yaml"
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=60,
    params:
        uses=own_uses(files),
        tokenizer=files.text_tokenizer,
        code=code_digest("describe_own_data.py"),
    message:
        "Looking at the data of your own"
    script:
        "../scripts/describe_own_data.py"
