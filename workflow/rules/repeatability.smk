# Do answers repeat? `snakemake repeatability` sends a sample of prompts again, in other orders and batches.

# The other backends compute their answers without a model.
MODELS = ("vllm", "openvino", "transformers", "openai")
REPEATED_MODELS = [
    name
    for name in config["run"]["models"]
    if config["models"][name]["backend"] in MODELS
]
REPEATED = [
    f"results/repeatability/{model}/{benchmark}.json"
    for model in REPEATED_MODELS
    for benchmark in config["run"]["benchmarks"]
]


rule repeat_answers:
    input:
        # Further inputs of the benchmark's metric, under its own names.
        unpack(lambda w: files.scoring_files(w.benchmark)),
        unpack(
            lambda w: {
                name: expand("results/corpora/{table}.parquet", table=tables)
                for name, tables in files.scoring_tables(w.benchmark).items()
            }
        ),
        unpack(lambda w: prompts(w.benchmark, files.tokenizer(w.model))),
        # The user's files: answers to replay, and a chat template.
        answers=lambda w: config["models"][w.model]["answers"] or [],
        chat_template=lambda w: config["models"][w.model]["chat_template"] or [],
        # The marks around reasoning and answers, and what the metric "careful" reads answers with.
        marks=[resource(file) for file in MARK_FILES],
        careful=[resource(file) for file in careful_files()],
    output:
        "results/repeatability/{model}/{benchmark}.json",
    log:
        "logs/repeat_answers/{model}/{benchmark}.log",
    benchmark:
        "benchmarks/repeat_answers/{model}/{benchmark}.tsv"
    conda:
        model_environment(REPEATED_MODELS)
    threads: lambda w: job_threads(config["models"][w.model])
    resources:
        gpu=lambda w: job_gpus(config["models"][w.model]),
        nodes=1,
        mem_mb=lambda w, attempt: (8000 + 24000 * job_gpus(config["models"][w.model]))
        * attempt,
        runtime=lambda w, attempt: 240 * attempt,
    params:
        model=lambda w: files.model_settings(w.model),
        lengths=lambda w: lengths_of(config, w.model, w.benchmark),
        only=lambda w: only_of(config, w.model, w.benchmark),
        sample=config["repeatability"],
        settings=lambda w: files.scoring_settings(w.benchmark),
        factors=lambda w: files.scored_by(w.benchmark),
        more=lambda w: [
            *files.scoring_files(w.benchmark),
            *files.scoring_tables(w.benchmark),
        ],
        code=lambda w: code_digest(
            "repeat_answers.py",
            f"needlework/models/backends/{config['models'][w.model]['backend']}.py",
            part_file(w.benchmark, "scores"),
        ),
    message:
        "Sending some prompts of {wildcards.benchmark} to {wildcards.model} again"
    script:
        "../scripts/repeat_answers.py"


rule repeatability:
    input:
        lambda w: REPEATED
        or refuse(
            "repeatability needs a model that can be asked again: name one with the backend "
            f"{', '.join(MODELS[:-1])} or {MODELS[-1]} in run.models."
        ),
    output:
        report(
            "results/tables/repeatability.csv",
            caption="../report/repeatability.rst",
            category="Repeatability",
            labels={"result": "answers and scores that change"},
        ),
    log:
        "logs/repeatability.log",
    benchmark:
        "benchmarks/repeatability.tsv"
    localrule: True
    conda:
        "../../envs/corpora.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code_digest("table_repeatability.py"),
    message:
        "Tabulating the answers that changed"
    script:
        "../scripts/table_repeatability.py"
