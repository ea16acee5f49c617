# From the sources' own files to one table for each corpus and language.


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
        entry=lambda w: files.source_entry(f"{w.source}/{w.file}"),
        prefix_mb=lambda w: config["sources"].get(w.source, {}).get("prefix_mb"),
        code=code_digest("fetch_source.py"),
    message:
        "Fetching {wildcards.source}/{wildcards.file}"
    script:
        "../scripts/fetch_source.py"


rule read_corpus:
    input:
        # results/sources/{source}/{file}, or files of resources/ and of a user's folder.
        lambda w: files.corpus_sources(w.corpus, w.lang),
    output:
        "results/corpora/{corpus}/{lang}.parquet",
    log:
        "logs/read_corpus/{corpus}/{lang}.log",
    benchmark:
        "benchmarks/read_corpus/{corpus}/{lang}.tsv"
    conda:
        lambda w: (
            "../../envs/datasets.yaml"
            if files.is_own_corpus(w.corpus)
            else "../../envs/corpora.yaml"
        )
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        settings=lambda w: files.corpus_settings(w.corpus, w.lang),
        reader=lambda w: files.corpus_reader(w.corpus),
        code=lambda w: code_digest(
            "read_corpus.py",
            f"needlework/{files.corpus_reader(w.corpus).replace('.', '/')}.py",
        ),
    message:
        "Reading {wildcards.corpus} in {wildcards.lang}"
    script:
        "../scripts/read_corpus.py"
