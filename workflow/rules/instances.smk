# Prompts: one file for each benchmark, tokenizer and slice.


rule build_instances:
    input:
        # The tables that the benchmark builds the slice from, under its own names for them.
        unpack(lambda w: files.prompts.built_from(w.benchmark, w.tokenizer, w.slice)),
        distractors=lambda w: expand(
            f"results/distractors/{w.benchmark}/{{lang}}.parquet",
            lang=files.prompts.slice_searches(w.benchmark, w.tokenizer, w.slice),
        ),
        # resources/prompts/{benchmark}/*.txt
        templates=lambda w: files.prompts.templates(w.benchmark),
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
        settings=lambda w: files.prompts.slice_settings(
            w.benchmark, w.tokenizer, w.slice
        ),
        tables=lambda w: [
            *files.prompts.built_from(w.benchmark, w.tokenizer, w.slice),
            "distractors",
        ],
        tokenizer=lambda w: config["tokenizers"][w.tokenizer],
        code=lambda w: code_digest(
            "build_instances.py", part_file(w.benchmark, "prompts")
        ),
    message:
        "Building {wildcards.benchmark} {wildcards.slice} for {wildcards.tokenizer}"
    script:
        "../scripts/build_instances.py"


rule count_tokens:
    input:
        # results/{instances,documents}/{benchmark}/{tokenizer}/{slice}.parquet, results/corpora/{table}.parquet
        unpack(lambda w: files.prompts.of(w.benchmark, files.prompts.text_tokenizer)),
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
        factors=lambda w: list(load_benchmark(w.benchmark).columns),
        code=code_digest("count_tokens.py"),
    message:
        "Counting the prompts of {wildcards.benchmark} in {wildcards.tokenizer}"
    script:
        "../scripts/count_tokens.py"


rule count_books:
    input:
        # results/sources/{source}/{file}, or files of resources/ and of a user's folder.
        lambda w: paths(files.prompts.books(w.benchmark)),
    output:
        "results/token_counts/{benchmark}/books/{tokenizer}.parquet",
    log:
        "logs/count_books/{benchmark}/{tokenizer}.log",
    benchmark:
        "benchmarks/count_books/{benchmark}/{tokenizer}.tsv"
    conda:
        "../../envs/instances.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        books=lambda w: files.prompts.books(w.benchmark),
        tokenizer=lambda w: config["tokenizers"][w.tokenizer],
        code=code_digest("count_books.py"),
    message:
        "Counting the books of {wildcards.benchmark} in {wildcards.tokenizer}"
    script:
        "../scripts/count_books.py"


rule describe_prompts:
    input:
        # results/instances/{benchmark}/{tokenizer}/{slice}.parquet
        lambda w: files.prompts.of(w.benchmark, w.tokenizer)["instances"],
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
        prompts=lambda w: repr(load_benchmark(w.benchmark).shown.prompts),
        code=code_digest("describe_prompts.py"),
    message:
        "Describing the prompts of {wildcards.benchmark} for {wildcards.tokenizer}"
    script:
        "../scripts/describe_prompts.py"
