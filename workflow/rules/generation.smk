# Answers: one job for each model and benchmark, or for each shard. The journal keeps finished requests.

from needlework.models.backends import backend_file

# The models with and without shards, as patterns of their names; (?!) matches no name.
IN_SHARDS = [name for name in config["models"] if files.config.models[name].shards > 1]
SHARDED = "|".join(map(re.escape, IN_SHARDS))
WHOLE = rf"(?!(?:{SHARDED or '(?!)'})/)[A-Za-z0-9._-]+"


# Settings that change no answer are not parameters; the script reads them from the configuration: the
# journal's folder, the number of GPUs, the share of memory.
rule generate_answers:
    input:
        # results/{instances,documents}/{benchmark}/{tokenizer}/{slice}.parquet, results/corpora/{table}.parquet
        unpack(
            lambda w: files.prompts.of(w.benchmark, files.prompts.tokenizer(w.model))
        ),
        unpack(lambda w: files.answers.model_files(w.model)),
    output:
        "results/generations/{model}/{benchmark}.parquet",
    log:
        "logs/generate_answers/{model}/{benchmark}.log",
        account="logs/generate_answers/{model}/{benchmark}.json",
    benchmark:
        "benchmarks/generate_answers/{model}/{benchmark}.tsv"
    wildcard_constraints:
        model=WHOLE,
    conda:
        model_environment(config["models"])
    threads: lambda w: job_threads(files.config.models[w.model])
    resources:
        gpu=lambda w: job_gpus(files.config.models[w.model]),
        # Slurm could give a job's GPUs on several nodes.
        nodes=1,
        mem_mb=lambda w, attempt: files.answers.host_memory(w.model) * attempt,
        runtime=lambda w, attempt: 720 * attempt,
    params:
        model=lambda w: files.answers.model_settings(w.model),
        lengths=lambda w: files.answers.lengths(w.model, w.benchmark),
        only=lambda w: files.answers.only(w.model, w.benchmark),
        state=lambda w: files.answers.request_state(
            f"logs/generate_answers/{w.model}/{w.benchmark}.json"
        ),
        code=lambda w: code_digest(
            "generate_answers.py", backend_file(files.config.models[w.model].backend)
        ),
    message:
        "{wildcards.model} answers {wildcards.benchmark}"
    script:
        "../scripts/generate_answers.py"


use rule generate_answers as generate_shard with:
    output:
        "results/generations/{model}/{benchmark}.{shard}.parquet",
    log:
        "logs/generate_answers/{model}/{benchmark}.{shard}.log",
        account="logs/generate_answers/{model}/{benchmark}.{shard}.json",
    benchmark:
        "benchmarks/generate_answers/{model}/{benchmark}.{shard}.tsv"
    wildcard_constraints:
        model=SHARDED or "(?!)",
    conda:
        model_environment(IN_SHARDS)
    params:
        state=lambda w: files.answers.request_state(
            f"logs/generate_answers/{w.model}/{w.benchmark}.{w.shard}.json"
        ),
    message:
        "{wildcards.model} answers {wildcards.benchmark}, part {wildcards.shard}"


rule merge_answers:
    input:
        unpack(
            lambda w: files.prompts.of(w.benchmark, files.prompts.tokenizer(w.model))
        ),
        unpack(lambda w: files.answers.model_files(w.model)),
        shards=lambda w: expand(
            f"results/generations/{w.model}/{w.benchmark}.{{shard}}.parquet",
            shard=files.answers.answer_shards(w.model),
        ),
    output:
        "results/generations/{model}/{benchmark}.parquet",
    log:
        "logs/merge_answers/{model}/{benchmark}.log",
    benchmark:
        "benchmarks/merge_answers/{model}/{benchmark}.tsv"
    wildcard_constraints:
        model=SHARDED or "(?!)",
    conda:
        "../../envs/generation.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=60,
    params:
        model=lambda w: files.answers.model_settings(w.model),
        lengths=lambda w: files.answers.lengths(w.model, w.benchmark),
        only=lambda w: files.answers.only(w.model, w.benchmark),
        code=code_digest("merge_answers.py"),
    message:
        "Merging the answers of {wildcards.model} to {wildcards.benchmark}"
    script:
        "../scripts/merge_answers.py"


# `snakemake estimate`: the cost of a run. It builds the prompts, loads no model, and runs every time, since
# the requests left change with the journal, which is not a file of the workflow. So the rule has no output,
# and no `benchmark`, whose file would count as one. It prints to the terminal, so it is a local rule.
rule estimate:
    input:
        paths([files.prompts.prompts_of_models(name) for name in BENCHMARKS]),
    log:
        "logs/estimate.log",
    localrule: True
    conda:
        "../../envs/generation.yaml"
    resources:
        mem_mb=8000,
        runtime=60,
    params:
        **files.answers.estimated(),
        table="results/estimate.csv",
    message:
        "Estimating what is left to do"
    script:
        "../scripts/estimate_work.py"
