# From the sources' own files to one table for each corpus and language, and what the user's own data hold.

from needlework.planning.inputs.own_data import own_tables, own_uses

OWN_TABLES = own_tables(files.prompts)
OWN_DATA = "results/own_data.json"


rule fetch_source:
    output:
        file="results/sources/{source}/{file}",
        record="results/sources/{source}/{file}.json",
    log:
        "logs/fetch_source/{source}/{file}.log",
    benchmark:
        "benchmarks/fetch_source/{source}/{file}.tsv"
    conda:
        "../../envs/corpora.yaml"
    resources:
        downloads=1,
        mem_mb=500,
        runtime=720,
    params:
        # A change of `mirror` must not fetch files again, so the script reads it from the
        # configuration; it is not a parameter.
        entry=lambda w: files.corpora.source_entry(f"{w.source}/{w.file}"),
        prefix_mb=lambda w: config["sources"].get(w.source, {}).get("prefix_mb"),
        code=code_digest("fetch_source.py"),
    message:
        "Fetching {wildcards.source}/{wildcards.file}"
    script:
        "../scripts/fetch_source.py"


rule read_corpus:
    input:
        # results/sources/{source}/{file}, or files of resources/ and of a user's folder.
        lambda w: files.corpora.sources(w.corpus, w.lang),
    output:
        "results/corpora/{corpus}/{lang}.parquet",
    log:
        "logs/read_corpus/{corpus}/{lang}.log",
    benchmark:
        "benchmarks/read_corpus/{corpus}/{lang}.tsv"
    conda:
        lambda w: (
            "../../envs/datasets.yaml"
            if files.corpora.is_own_corpus(w.corpus)
            else "../../envs/corpora.yaml"
        )
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        settings=lambda w: files.corpora.corpus_settings(w.corpus, w.lang),
        reader=lambda w: files.corpora.corpus_reader(w.corpus),
        code=lambda w: code_digest(
            "read_corpus.py",
            f"needlework/{files.corpora.corpus_reader(w.corpus).replace('.', '/')}.py",
        ),
    message:
        "Reading {wildcards.corpus} in {wildcards.lang}"
    script:
        "../scripts/read_corpus.py"


# `snakemake own_data` says it before prompts are built.
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
        uses=own_uses(files.prompts),
        tokenizer=files.prompts.text_tokenizer,
        code=code_digest("describe_own_data.py"),
    message:
        "Looking at the data of your own"
    script:
        "../scripts/describe_own_data.py"
