# Answers: one job for each model and benchmark, or for each shard. The journal keeps finished requests.

# The models with and without shards, as patterns of their names; (?!) matches no name.
IN_SHARDS = [name for name, entry in config["models"].items() if entry["shards"] > 1]
SHARDED = "|".join(map(re.escape, IN_SHARDS))
WHOLE = rf"(?!(?:{SHARDED or '(?!)'})/)[A-Za-z0-9._-]+"


rule generate_answers:
    input:
        unpack(lambda w: prompts(w.benchmark, files.tokenizer(w.model))),
        # The user's files: answers to replay, and a chat template.
        answers=lambda w: config["models"][w.model]["answers"] or [],
        chat_template=lambda w: config["models"][w.model]["chat_template"] or [],
        # The marks around reasoning and answers.
        marks=[resource(file) for file in MARK_FILES],
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
    threads: lambda w: job_threads(config["models"][w.model])
    resources:
        gpu=lambda w: job_gpus(config["models"][w.model]),
        # Slurm could give a job's GPUs on several nodes.
        nodes=1,
        # A GPU's share of the weights passes through the memory of the host.
        mem_mb=lambda w, attempt: (8000 + 24000 * job_gpus(config["models"][w.model]))
        * attempt,
        runtime=lambda w, attempt: 720 * attempt,
    params:
        # Settings that change no answer are not parameters; the script reads them from the
        # configuration: the journal's folder, the number of GPUs, the share of memory.
        model=lambda w: files.model_settings(w.model),
        lengths=lambda w: lengths_of(config, w.model, w.benchmark),
        only=lambda w: only_of(config, w.model, w.benchmark),
        # It changes if the last job left requests that are to be asked again.
        state=lambda w: request_state(
            f"{ACCOUNTS}/{w.model}/{w.benchmark}{f'.{w.shard}' if 'shard' in w.keys() else ''}.json"
        ),
        code=lambda w: code_digest(
            "generate_answers.py",
            f"needlework/models/backends/{config['models'][w.model]['backend']}.py",
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
    message:
        "{wildcards.model} answers {wildcards.benchmark}, part {wildcards.shard}"


rule merge_answers:
    input:
        unpack(lambda w: prompts(w.benchmark, files.tokenizer(w.model))),
        # The user's files: answers to replay, and a chat template.
        answers=lambda w: config["models"][w.model]["answers"] or [],
        chat_template=lambda w: config["models"][w.model]["chat_template"] or [],
        # The marks around reasoning and answers.
        marks=[resource(file) for file in MARK_FILES],
        shards=lambda w: expand(
            "results/generations/{model}/{benchmark}.{shard}.parquet",
            model=w.model,
            benchmark=w.benchmark,
            shard=files.answer_shards(w.model),
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
        model=lambda w: files.model_settings(w.model),
        lengths=lambda w: lengths_of(config, w.model, w.benchmark),
        only=lambda w: only_of(config, w.model, w.benchmark),
        code=code_digest("merge_answers.py"),
    message:
        "Merging the answers of {wildcards.model} to {wildcards.benchmark}"
    script:
        "../scripts/merge_answers.py"
