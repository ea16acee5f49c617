# Prompts: one file a benchmark, tokenizer and slice.


rule build_instances:
    input:
        unpack(lambda w: files.slice_inputs(w.benchmark, w.tokenizer, w.slice)),
    output:
        instances="results/instances/{benchmark}/{tokenizer}/{slice}.parquet",
        documents="results/documents/{benchmark}/{tokenizer}/{slice}.parquet",
    log:
        "logs/build_instances/{benchmark}/{tokenizer}/{slice}.log",
    benchmark:
        "benchmarks/build_instances/{benchmark}/{tokenizer}/{slice}.tsv"
    conda:
        "../../envs/instances.yaml"
    resources:
        mem_mb=lambda w, attempt: 3000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        build=lambda w: files.benchmark(w.benchmark).build,
        settings=lambda w: files.slice_settings(w.benchmark, w.tokenizer, w.slice),
        tables=lambda w: files.table_names(w.benchmark, w.tokenizer, w.slice),
        tokenizer=lambda w: config["tokenizers"][w.tokenizer],
        code=lambda w: code_digest(
            "build_instances.py", hook_file(files.benchmark(w.benchmark).build)
        ),
    message:
        "Building {wildcards.benchmark} {wildcards.slice} for {wildcards.tokenizer}"
    script:
        "../scripts/build_instances.py"


rule count_tokens:
    input:
        instances=lambda w: files.instances(w.benchmark, files.text_tokenizer),
        corpora=lambda w: files.document_inputs(w.benchmark, files.text_tokenizer)[
            "corpora"
        ],
        documents=lambda w: files.documents(w.benchmark, files.text_tokenizer),
    output:
        "results/token_counts/{benchmark}/{tokenizer}.parquet",
    log:
        "logs/count_tokens/{benchmark}/{tokenizer}.log",
    benchmark:
        "benchmarks/count_tokens/{benchmark}/{tokenizer}.tsv"
    conda:
        "../../envs/instances.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        tokenizer=lambda w: config["tokenizers"][w.tokenizer],
        factors=lambda w: list(files.benchmark(w.benchmark).columns),
        code=code_digest("count_tokens.py"),
    message:
        "Counting the prompts of {wildcards.benchmark} in {wildcards.tokenizer}"
    script:
        "../scripts/count_tokens.py"


rule describe_prompts:
    input:
        lambda w: files.instances(w.benchmark, w.tokenizer),
    output:
        report(
            "results/tables/{benchmark}/prompts-{tokenizer}.csv",
            caption="../report/prompts.rst",
            category="Prompts",
            labels={"result": "{benchmark}, {tokenizer}"},
        ),
    log:
        "logs/describe_prompts/{benchmark}/{tokenizer}.log",
    benchmark:
        "benchmarks/describe_prompts/{benchmark}/{tokenizer}.tsv"
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=30,
    params:
        prompts=lambda w: description(files.benchmark(w.benchmark).prompts),
        code=code_digest("describe_prompts.py"),
    message:
        "Describing the prompts of {wildcards.benchmark} for {wildcards.tokenizer}"
    script:
        "../scripts/describe_prompts.py"
