# Translation of answers into English, then scores.

from needlework.scoring.careful.words import files as careful_files

# Its kind: none, google, nllb or llm.
TRANSLATOR = files.scores.translator.kind


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
        environment(TRANSLATOR)
    threads: job_threads(files.scores.translator)
    resources:
        gpu=job_gpus(files.scores.translator),
        nodes=1,
        mem_mb=lambda w, attempt: 8000 * attempt,
        runtime=lambda w, attempt: 240 * attempt,
    params:
        translator=files.scores.translator_settings,
        code=code_digest(
            "translate_answers.py",
            f"needlework/scoring/translators/{TRANSLATOR}.py",
        ),
    message:
        "Translating the answers of {wildcards.model} to {wildcards.benchmark}"
    script:
        "../scripts/translate_answers.py"


rule translate_references:
    input:
        questions=lambda w: expand(
            "results/corpora/{needles}/{lang}.parquet",
            needles=files.prompts.settings(w.benchmark).needles,
            lang=files.prompts.settings(w.benchmark).answer_languages,
        ),
        # The smallest slices that name every question that is asked.
        instances=lambda w: expand(
            f"results/instances/{w.benchmark}/{{tokenizer}}/{{slice}}.parquet",
            tokenizer=files.prompts.tokenizer(MODELS[0]),
            slice=files.prompts.baselines(w.benchmark),
        ),
    output:
        "results/translation_ceilings/{benchmark}.parquet",
    log:
        "logs/translate_references/{benchmark}.log",
    benchmark:
        "benchmarks/translate_references/{benchmark}.tsv"
    conda:
        scoring_environment(TRANSLATOR)
    threads: job_threads(files.scores.translator)
    resources:
        gpu=job_gpus(files.scores.translator),
        nodes=1,
        mem_mb=lambda w, attempt: 8000 * attempt,
        runtime=lambda w, attempt: 240 * attempt,
    params:
        translator=files.scores.translator_settings,
        settings=lambda w: files.scores.scoring_settings(w.benchmark),
        code=lambda w: code_digest(
            "translate_references.py",
            f"needlework/scoring/translators/{TRANSLATOR}.py",
            part_file(w.benchmark, "scores"),
        ),
    message:
        "Translating the gold answers of {wildcards.benchmark}"
    script:
        "../scripts/translate_references.py"


rule score_answers:
    input:
        # Further inputs of the benchmark's metric, under its own names: phrases, or quoted tables.
        unpack(lambda w: files.scores.scorer_files(w.benchmark)),
        # results/instances/{benchmark}/{tokenizer}/{slice}.parquet
        instances=lambda w: files.prompts.instances(w.model, w.benchmark),
        generations="results/generations/{model}/{benchmark}.parquet",
        translations=lambda w: files.scores.translation_files(w.model, w.benchmark),
        similarity=lambda w: files.scores.similarity_files(w.model, w.benchmark),
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
        settings=lambda w: files.scores.scoring_settings(w.benchmark),
        lengths=lambda w: files.answers.lengths(w.model, w.benchmark),
        only=lambda w: files.answers.only(w.model, w.benchmark),
        factors=lambda w: files.scores.scored_by(w.benchmark),
        more=lambda w: list(files.scores.scorer_files(w.benchmark)),
        beside=lambda w: files.scores.metrics_beside(w.benchmark),
        code=lambda w: code_digest("score_answers.py", part_file(w.benchmark, "scores")),
    message:
        "Scoring {wildcards.model} on {wildcards.benchmark}"
    script:
        "../scripts/score_answers.py"
