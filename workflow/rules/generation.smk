# Answers: one job a model and benchmark. Finished requests outlive the job in the journal.


rule generate_answers:
    input:
        unpack(lambda w: files.generation_inputs(w.benchmark, w.model)),
    output:
        "results/generations/{model}/{benchmark}.parquet",
    log:
        "logs/generate_answers/{model}/{benchmark}.log",
    benchmark:
        "benchmarks/generate_answers/{model}/{benchmark}.tsv"
    conda:
        "../../envs/generation.yaml"
    resources:
        mem_mb=lambda w, attempt: 8000 * attempt,
        runtime=lambda w, attempt: 720 * attempt,
    params:
        # Where the journal lies changes no answer: it is read from the configuration.
        model=lambda w: files.model_settings(w.model),
        lengths=lambda w: lengths_of(config, w.model, w.benchmark),
        code=lambda w: code_digest(
            "generate_answers.py", f"needlework/backends/{config['models'][w.model]['backend']}.py"
        ),
    message:
        "{wildcards.model} answers {wildcards.benchmark}"
    script:
        "../scripts/generate_answers.py"
