# Translation of answers into English, then scores.


rule translate_answers:
    input:
        "results/generations/{model}/{benchmark}.parquet",
    output:
        "results/translations/{model}/{benchmark}.parquet",
    log:
        "logs/translate_answers/{model}/{benchmark}.log",
    benchmark:
        "benchmarks/translate_answers/{model}/{benchmark}.tsv"
    conda:
        environment(files.translator["kind"])
    threads: job_threads(files.translator)
    resources:
        gpu=job_gpus(files.translator),
        nodes=1,
        mem_mb=lambda w, attempt: 8000 * attempt,
        runtime=lambda w, attempt: 240 * attempt,
    params:
        translator=files.translator_settings,
        code=code_digest(
            "translate_answers.py",
            f"needlework/scoring/translators/{files.translator['kind']}.py",
        ),
    message:
        "Translating the answers of {wildcards.model} to {wildcards.benchmark}"
    script:
        "../scripts/translate_answers.py"


rule translate_references:
    input:
        questions=lambda w: expand(
            "results/corpora/{corpus}/{lang}.parquet",
            corpus=files.settings(w.benchmark)["needles"],
            lang=files.settings(w.benchmark)["answer_languages"],
        ),
        # The smallest slices that name every question that is asked.
        instances=lambda w: expand(
            "results/instances/{benchmark}/{tokenizer}/{slice}.parquet",
            benchmark=w.benchmark,
            tokenizer=files.tokenizer(config["run"]["models"][0]),
            slice=files.baselines(w.benchmark),
        ),
    output:
        "results/translation_ceilings/{benchmark}.parquet",
    log:
        "logs/translate_references/{benchmark}.log",
    benchmark:
        "benchmarks/translate_references/{benchmark}.tsv"
    conda:
        scoring_environment(files.translator["kind"])
    threads: job_threads(files.translator)
    resources:
        gpu=job_gpus(files.translator),
        nodes=1,
        mem_mb=lambda w, attempt: 8000 * attempt,
        runtime=lambda w, attempt: 240 * attempt,
    params:
        translator=files.translator_settings,
        settings=lambda w: files.scoring_settings(w.benchmark),
        code=lambda w: code_digest(
            "translate_references.py",
            f"needlework/scoring/translators/{files.translator['kind']}.py",
            part_file(w.benchmark, "scores"),
        ),
    message:
        "Translating the gold answers of {wildcards.benchmark}"
    script:
        "../scripts/translate_references.py"


rule score_answers:
    input:
        # Further inputs of the benchmark's metric, under its own names: phrases, or quoted tables.
        unpack(lambda w: files.scoring_files(w.benchmark)),
        unpack(
            lambda w: {
                name: expand("results/corpora/{table}.parquet", table=tables)
                for name, tables in files.scoring_tables(w.benchmark).items()
            }
        ),
        instances=lambda w: expand(
            "results/instances/{benchmark}/{tokenizer}/{slice}.parquet",
            benchmark=w.benchmark,
            tokenizer=files.tokenizer(w.model),
            slice=files.slices(w.benchmark),
        ),
        generations="results/generations/{model}/{benchmark}.parquet",
        translations=lambda w: translations(w.model, w.benchmark),
        similarity=lambda w: similarity(w.model, w.benchmark),
        # What the metric "careful" reads answers with.
        careful=[resource(file) for file in careful_files()],
    output:
        "results/scores/{model}/{benchmark}.parquet",
    log:
        "logs/score_answers/{model}/{benchmark}.log",
    benchmark:
        "benchmarks/score_answers/{model}/{benchmark}.tsv"
    conda:
        scoring_environment()
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=60,
    params:
        settings=lambda w: files.scoring_settings(w.benchmark),
        lengths=lambda w: lengths_of(config, w.model, w.benchmark),
        only=lambda w: only_of(config, w.model, w.benchmark),
        factors=lambda w: files.scored_by(w.benchmark),
        more=lambda w: [
            *files.scoring_files(w.benchmark),
            *files.scoring_tables(w.benchmark),
        ],
        beside=lambda w: files.metrics_beside(w.benchmark),
        code=lambda w: code_digest("score_answers.py", part_file(w.benchmark, "scores")),
    message:
        "Scoring {wildcards.model} on {wildcards.benchmark}"
    script:
        "../scripts/score_answers.py"
