# `judge`: a model that is asked about the answers that the second scorer leaves undecided.

from needlework.models.engine_arguments import judging

# What is shown of its verdicts, and last its replies; nothing without a judge.
JUDGED = expand(
    "results/judge/{model}/{file}",
    model=files.answers.judges,
    file=["judged.csv", "agreement.csv", "verdicts.csv", "replies.parquet"],
)


rule judge_prompts:
    input:
        # resources/judge/known.csv, and resources/judge/{kind}.txt as `templates`
        **files.answers.judge_files(),
        prompts=files.explorer.explorer_inputs()["prompts"],
        # results/{scores,generations}/{model}/{benchmark}.parquet
        answers=files.scores.answers_of_models(files.answers.card_models()),
    output:
        "results/judge/{model}/prompts.parquet",
    log:
        "logs/judge_prompts/{model}.log",
    benchmark:
        "benchmarks/judge_prompts/{model}.tsv"
    conda:
        "../../envs/instances.yaml"
    resources:
        mem_mb=lambda w, attempt: 8000 * attempt,
        runtime=60,
    params:
        files={name: files.explorer.explored(name) for name in BENCHMARKS},
        kinds={name: dict(load_benchmark(name).scoring.judged) for name in BENCHMARKS},
        tokenizer=lambda w: files.prompts.tokenizer(w.model),
        code=code_digest("build_judge_prompts.py"),
    message:
        "Choosing the answers that {wildcards.model} judges"
    script:
        "../scripts/build_judge_prompts.py"


use rule generate_answers as judge_replies with:
    input:
        instances=["results/judge/{model}/prompts.parquet"],
        corpora=[],
        documents=[],
        chat_template=lambda w: files.answers.model_files(w.model)["chat_template"],
        marks=lambda w: files.answers.model_files(w.model)["marks"],
    output:
        "results/{benchmark}/{model}/replies.parquet",
    log:
        "logs/{benchmark}_replies/{model}.log",
        account="logs/{benchmark}_replies/{model}.json",
    benchmark:
        "benchmarks/{benchmark}_replies/{model}.tsv"
    wildcard_constraints:
        benchmark="judge",
        model=r"[A-Za-z0-9._-]+",
    conda:
        model_environment(files.answers.judges)
    params:
        model=lambda w: {
            **files.answers.model_settings(w.model),
            **judging(files.config.models[w.model]),
        },
        lengths=None,
        only=None,
        state=lambda w: files.answers.judge_state(f"logs/judge_replies/{w.model}.json"),
    message:
        "{wildcards.model} judges answers that the second scorer leaves undecided"


rule tabulate_judge:
    input:
        prompts="results/judge/{model}/prompts.parquet",
        replies="results/judge/{model}/replies.parquet",
        scores=expand(
            "results/scores/{model}/{benchmark}.parquet",
            model=files.answers.card_models(),
            benchmark=BENCHMARKS,
        ),
        known=resource("judge/known.csv"),
    output:
        judged="results/judge/{model}/judged.csv",
        agreement="results/judge/{model}/agreement.csv",
        verdicts="results/judge/{model}/verdicts.csv",
    log:
        "logs/tabulate_judge/{model}.log",
    benchmark:
        "benchmarks/tabulate_judge/{model}.tsv"
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=30,
    params:
        code=code_digest("tabulate_judge.py"),
    message:
        "Counting what {wildcards.model} judges"
    script:
        "../scripts/tabulate_judge.py"


rule judged:
    input:
        lambda w: JUDGED
        or refuse(
            "a judge is a model: name one of `models` as `judge`, as in --config judge=a"
        ),
    localrule: True
