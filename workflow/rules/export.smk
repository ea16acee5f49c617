# The prompts for other programs, and as tasks of two harnesses: `snakemake export`. The backend `replay` takes
# their answers back.

from needlework.planning.layout import resource


rule export_prompts:
    input:
        instances="results/instances/{benchmark}/{tokenizer}/{slice}.parquet",
        documents="results/documents/{benchmark}/{tokenizer}/{slice}.parquet",
        corpora=lambda w: expand(
            "results/corpora/{table}.parquet", table=files.quoted(w.benchmark)
        ),
    output:
        jsonl="results/export/{benchmark}/{tokenizer}/{slice}.jsonl",
        parquet="results/export/{benchmark}/{tokenizer}/{slice}.parquet",
    log:
        "logs/export_prompts/{benchmark}/{tokenizer}/{slice}.log",
    benchmark:
        "benchmarks/export_prompts/{benchmark}/{tokenizer}/{slice}.tsv"
    conda:
        "../../envs/generation.yaml"
    resources:
        mem_mb=lambda w, attempt: 3000 * attempt,
        runtime=60,
    params:
        code=code_digest("export_prompts.py"),
    message:
        "Exporting {wildcards.benchmark} {wildcards.slice} for {wildcards.tokenizer}"
    script:
        "../scripts/export_prompts.py"


rule export_tasks:
    input:
        prompts=lambda w: expand(
            "results/export/{benchmark}/{tokenizer}/{slice}.parquet",
            benchmark=w.benchmark,
            tokenizer=w.tokenizer,
            slice=files.slices(w.benchmark),
        ),
        inspect_task=resource("export/inspect_task.py"),
        lm_eval=resource("export/lm_eval_prompts.py"),
    output:
        inspect_task="results/export/{benchmark}/{tokenizer}/inspect_task.py",
        lm_eval=directory("results/export/{benchmark}/{tokenizer}/lm_eval"),
    log:
        "logs/export_tasks/{benchmark}/{tokenizer}.log",
    benchmark:
        "benchmarks/export_tasks/{benchmark}/{tokenizer}.tsv"
    localrule: True
    conda:
        "../../envs/generation.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code_digest("export_tasks.py"),
    message:
        "Tasks of {wildcards.benchmark} for inspect_ai and lm-eval"
    script:
        "../scripts/export_tasks.py"


rule export:
    input:
        expand(
            "results/export/{benchmark}/{tokenizer}/{task}",
            benchmark=config["run"]["benchmarks"],
            tokenizer=files.tokenizers,
            task=["inspect_task.py", "lm_eval"],
        ),
        [
            f"results/export/{benchmark}/{tokenizer}/{slice}.{ending}"
            for benchmark in config["run"]["benchmarks"]
            for tokenizer in files.tokenizers
            for slice in files.slices(benchmark)
            for ending in ("jsonl", "parquet")
        ],
    localrule: True
