# The prompts for other programs: `snakemake export`. The backend `replay` takes their answers back.


rule export_prompts:
    input:
        instances="results/instances/{benchmark}/{tokenizer}/{slice}.parquet",
        documents="results/documents/{benchmark}/{tokenizer}/{slice}.parquet",
        corpora=lambda w: files.document_inputs(w.benchmark, w.tokenizer)["corpora"],
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
            path.replace("results/instances/", "results/export/").replace(
                ".parquet", ending
            )
            for benchmark in config["run"]["benchmarks"]
            for tokenizer in files.tokenizers
            for path in files.instances(benchmark, tokenizer)
            for ending in (".jsonl", ".parquet")
        ],
    localrule: True
