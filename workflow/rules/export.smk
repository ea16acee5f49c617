# The prompts for other programs: `snakemake export`. The backend `replay` takes their answers back.


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


rule export:
    input:
        [
            f"results/export/{benchmark}/{tokenizer}/{slice}.{ending}"
            for benchmark in config["run"]["benchmarks"]
            for tokenizer in files.tokenizers
            for slice in files.slices(benchmark)
            for ending in ("jsonl", "parquet")
        ],
    localrule: True
