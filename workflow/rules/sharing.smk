# What leaves a run: prompts for other programs (`snakemake export`), and all of it as one file for reviewers
# (`artifact`), which `verify` checks.


# The backend `replay` takes back the answers of other programs.
rule export_prompts:
    input:
        instances="results/instances/{benchmark}/{tokenizer}/{slice}.parquet",
        documents="results/documents/{benchmark}/{tokenizer}/{slice}.parquet",
        corpora=lambda w: expand(
            "results/corpora/{table}.parquet", table=files.prompts.quoted(w.benchmark)
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
            f"results/export/{w.benchmark}/{w.tokenizer}/{{slice}}.parquet",
            slice=files.prompts.slices(w.benchmark),
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
            benchmark=BENCHMARKS,
            tokenizer=files.prompts.tokenizers,
            task=["inspect_task.py", "lm_eval"],
        ),
        files.sharing.exported(),
    localrule: True


# Which rule writes which files: (rule, its outputs, its benchmark file).
WRITERS = [
    (
        own.name,
        [str(path) for path in own.output],
        str(own.benchmark) if own.benchmark else None,
    )
    for own in workflow.rules
    if own.output
]


rule artifact:
    input:
        RESULTS,
        explorer="results/explorer",
        provenance="results/provenance.json",
        registry=resource("sources.yaml"),
    output:
        "results/artifact.crate.zip",
    log:
        "logs/artifact.log",
    benchmark:
        "benchmarks/artifact.tsv"
    localrule: True
    conda:
        "../../envs/artifact.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        rules=WRITERS,
        code=code_digest("write_artifact.py"),
    message:
        "Packing the run for reviewers"
    script:
        "../scripts/write_artifact.py"


# It checks the results as they are: no input, which would make them anew, and no output.
rule verify:
    log:
        "logs/verify.log",
    localrule: True
    conda:
        "../../envs/artifact.yaml"
    params:
        provenance="results/provenance.json",
    message:
        "Comparing the results with their seal"
    script:
        "../scripts/verify_results.py"
