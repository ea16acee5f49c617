# Does a served model answer as it should? `snakemake doctor` checks the models of `run.doctor`.

from needlework.planning.checkups import changes
from needlework.planning.chosen import metric_of

CHECKED = files.checkups.by_model
ASKED = files.checkups.asked_models()
# The answers of the first asking, by model and benchmark.
FIRST_ANSWERS = {
    model: {
        benchmark: f"results/doctor_answers/{model}/{benchmark}/first/generations.parquet"
        for benchmark in BENCHMARKS
    }
    for model in ASKED
}


rule draw_questions:
    input:
        # results/instances/{benchmark}/{tokenizer}/{slice}.parquet
        lambda w: files.prompts.instances(w.model, w.benchmark),
    output:
        "results/doctor_answers/{model}/{benchmark}/{turn}/prompts.parquet",
    log:
        "logs/draw_questions/{model}/{benchmark}/{turn}.log",
    benchmark:
        "benchmarks/draw_questions/{model}/{benchmark}/{turn}.tsv"
    conda:
        "../../envs/corpora.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=30,
    params:
        # The questions, of which the first are asked again.
        limits=lambda w: files.checkups.questions(w.turn),
        seed=config["run"]["seed"],
        lengths=lambda w: files.answers.lengths(w.model, w.benchmark),
        only=lambda w: files.answers.only(w.model, w.benchmark),
        code=code_digest("draw_questions.py"),
    message:
        "Drawing questions of {wildcards.benchmark} for the doctor of {wildcards.model}"
    script:
        "../scripts/draw_questions.py"


rule count_cells:
    input:
        # results/instances/{benchmark}/{tokenizer}/{slice}.parquet
        lambda w: files.prompts.instances(w.model, w.benchmark),
    output:
        "results/doctor_answers/{model}/{benchmark}/cells.json",
    log:
        "logs/count_cells/{model}/{benchmark}.log",
    benchmark:
        "benchmarks/count_cells/{model}/{benchmark}.tsv"
    conda:
        "../../envs/corpora.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=30,
    params:
        factors=lambda w: files.checkups.factors(w.benchmark),
        lengths=lambda w: files.answers.lengths(w.model, w.benchmark),
        only=lambda w: files.answers.only(w.model, w.benchmark),
        code=code_digest("count_cells.py"),
    message:
        "Counting the cells of {wildcards.benchmark} for the doctor of {wildcards.model}"
    script:
        "../scripts/count_cells.py"


use rule generate_answers as doctor_answers with:
    input:
        # results/doctor_answers/{model}/{benchmark}/{turn}/prompts.parquet, and what these prompts quote
        unpack(lambda w: files.checkups.drawn_prompts(w.model, w.benchmark, w.turn)),
        # The user's file.
        chat_template=lambda w: files.answers.model_files(w.model)["chat_template"],
    output:
        "results/doctor_answers/{model}/{benchmark}/{turn}/generations.parquet",
    log:
        "logs/doctor_answers/{model}/{benchmark}/{turn}.log",
        account="logs/doctor_answers/{model}/{benchmark}/{turn}.json",
    benchmark:
        "benchmarks/doctor_answers/{model}/{benchmark}/{turn}.tsv"
    wildcard_constraints:
        model=r"[A-Za-z0-9._-]+",
    conda:
        model_environment(ASKED)
    params:
        # Those that were drawn.
        lengths=None,
        only=None,
        state=lambda w: files.answers.request_state(
            f"logs/doctor_answers/{w.model}/{w.benchmark}/{w.turn}.json"
        ),
    message:
        "{wildcards.model} answers {wildcards.benchmark} for the doctor ({wildcards.turn})"


use rule translate_answers as translate_doctor with:
    input:
        "results/doctor_answers/{model}/{benchmark}/{turn}/generations.parquet",
    output:
        "results/doctor_answers/{model}/{benchmark}/{turn}/translations.parquet",
    log:
        "logs/translate_doctor/{model}/{benchmark}/{turn}.log",
    benchmark:
        "benchmarks/translate_doctor/{model}/{benchmark}/{turn}.tsv"


use rule score_answers as score_doctor with:
    input:
        unpack(lambda w: files.scores.scorer_files(w.benchmark)),
        instances=["results/doctor_answers/{model}/{benchmark}/{turn}/prompts.parquet"],
        generations="results/doctor_answers/{model}/{benchmark}/{turn}/generations.parquet",
        translations=lambda w: (
            [
                f"results/doctor_answers/{w.model}/{w.benchmark}/{w.turn}/translations.parquet"
            ]
            if files.scores.translated(w.benchmark)
            else []
        ),
        similarity=[],
    output:
        "results/doctor_answers/{model}/{benchmark}/{turn}/scores.parquet",
    log:
        "logs/score_doctor/{model}/{benchmark}/{turn}.log",
    benchmark:
        "benchmarks/score_doctor/{model}/{benchmark}/{turn}.tsv"


rule diagnose:
    input:
        lambda w: paths(files.checkups.read(w.model)),
        templates=resource("doctor"),
    output:
        data="results/doctor/{model}/doctor.json",
        summary="results/doctor/{model}/doctor.md",
        page=report(
            "results/doctor/{model}/index.html",
            caption="../report/doctor.rst",
            category="Doctor",
            labels={"model": "{model}"},
        ),
        cells="results/doctor/{model}/cells.csv",
    log:
        "logs/diagnose/{model}.log",
    benchmark:
        "benchmarks/diagnose/{model}.tsv"
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=30,
    params:
        files=lambda w: files.checkups.read(w.model),
        factors={name: load_benchmark(name).asked for name in BENCHMARKS},
        metrics={name: metric_of(files.config, name) for name in BENCHMARKS},
        checkup=lambda w: dict(CHECKED[w.model]),
        again=files.config.doctor.again,
        # The names of models at their servers, by entry.
        names={name: files.config.models[name].name for name in ASKED},
        changes=lambda w: changes(files.config, CHECKED[w.model]),
        code=code_digest(
            "diagnose.py", *(part_file(name, "benchmark") for name in BENCHMARKS)
        ),
    message:
        "Checking the answers of {wildcards.model}"
    script:
        "../scripts/diagnose.py"


rule doctor_verdict:
    input:
        "results/doctor/{model}/doctor.json",
    output:
        touch("results/doctor/{model}/passed"),
    log:
        "logs/doctor_verdict/{model}.log",
    benchmark:
        "benchmarks/doctor_verdict/{model}.tsv"
    localrule: True
    conda:
        "../../envs/corpora.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        worse_by=lambda w: CHECKED[w.model].fail_if_worse_by,
        code=code_digest("gate_checkup.py"),
    message:
        "Is {wildcards.model} sound?"
    script:
        "../scripts/gate_checkup.py"


use rule provenance as doctor_provenance with:
    input:
        results=expand("results/doctor/{model}/doctor.json", model=CHECKED),
        scores=expand(
            "results/doctor_answers/{model}/{benchmark}/{turn}/scores.parquet",
            model=ASKED,
            benchmark=BENCHMARKS,
            turn=["first", "again"],
        ),
        generations=paths(FIRST_ANSWERS),
        translations=expand(
            "results/doctor_answers/{model}/{benchmark}/again/generations.parquet",
            model=ASKED,
            benchmark=BENCHMARKS,
        ),
        registry=resource("sources.yaml"),
    output:
        "results/doctor/provenance.json",
    log:
        "logs/doctor_provenance.log",
    benchmark:
        "benchmarks/doctor_provenance.tsv"
    params:
        generations=FIRST_ANSWERS,
    message:
        "Writing the provenance of the checkups"


# The reports, whatever their verdicts.
rule checkups:
    input:
        lambda w: expand("results/doctor/{model}/doctor.json", model=CHECKED)
        or refuse(
            "the doctor needs a model: name it in `run.doctor`, as in [{model: a}]."
        ),
        "results/doctor/provenance.json",
    localrule: True


rule doctor:
    input:
        rules.checkups.input,
        expand("results/doctor/{model}/passed", model=CHECKED),
    localrule: True
