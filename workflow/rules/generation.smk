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
        lambda w: {
            "vllm": "../../envs/vllm.yaml",
            "transformers": "../../envs/neural.yaml",
        }.get(config["models"][w.model]["backend"], "../../envs/generation.yaml")
    resources:
        gpu=lambda w: files.generation_gpus(w.model),
        # A GPU's share of the weights passes through the memory of the host.
        mem_mb=lambda w, attempt: (8000 + 24000 * files.generation_gpus(w.model))
        * attempt,
        runtime=lambda w, attempt: 720 * attempt,
    params:
        # What changes no answer is read from the configuration: where the journal lies, and how
        # many GPUs and how much memory an engine takes.
        model=lambda w: files.model_settings(w.model),
        lengths=lambda w: lengths_of(config, w.model, w.benchmark),
        code=lambda w: code_digest(
            "generate_answers.py",
            f"needlework/backends/{config['models'][w.model]['backend']}.py",
        ),
    message:
        "{wildcards.model} answers {wildcards.benchmark}"
    script:
        "../scripts/generate_answers.py"
