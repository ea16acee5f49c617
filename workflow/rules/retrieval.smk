# Distractors: embed questions and passages, rank, choose.

EMBEDDER = files.config.embedders[files.config.retrieval.embedder]


rule embed_corpus:
    input:
        "results/corpora/{corpus}/{lang}.parquet",
    output:
        "results/embeddings/{embedder}/{corpus}/{lang}.npy",
    log:
        "logs/embed_corpus/{embedder}/{corpus}/{lang}.log",
    benchmark:
        "benchmarks/embed_corpus/{embedder}/{corpus}/{lang}.tsv"
    conda:
        lambda w: environment(files.config.embedders[w.embedder].kind)
    threads: lambda w: job_threads(files.config.embedders[w.embedder])
    resources:
        gpu=lambda w: job_gpus(files.config.embedders[w.embedder]),
        nodes=1,
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 120 * attempt,
    params:
        embedder=lambda w: files.retrieval.embedder_settings(w.embedder),
        code=code_digest("embed_corpus.py"),
    message:
        "Embedding {wildcards.corpus} {wildcards.lang}"
    script:
        "../scripts/embed_corpus.py"


# No passage may hold an answer in any of the languages of `questions`. Vectors are
# results/embeddings/{embedder}/{corpus}/{lang}.npy, or none for a random choice.
rule search_passages:
    input:
        passages=lambda w: f"results/corpora/{search(w).haystack}/{w.lang}.parquet",
        questions=lambda w: expand(
            f"results/corpora/{search(w).needles}/{{lang}}.parquet",
            lang=search(w).answer_languages,
        ),
        question_vectors=lambda w: files.retrieval.vectors(
            search(w).needles, search(w).question_lang, w.retrieval
        ),
        passage_vectors=lambda w: files.retrieval.vectors(
            search(w).haystack, w.lang, w.retrieval
        ),
    output:
        temp("results/distractors/{benchmark}/{lang}.{retrieval}.npy"),
    log:
        "logs/search_passages/{benchmark}/{lang}.{retrieval}.log",
    benchmark:
        "benchmarks/search_passages/{benchmark}/{lang}.{retrieval}.tsv"
    conda:
        lambda w: search_environment(w.retrieval)
    threads: 4
    resources:
        gpu=lambda w: files.retrieval.search_gpus(w.retrieval),
        nodes=1,
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        retrieval=lambda w: w.retrieval,
        top=config["retrieval"]["top"],
        question_lang=lambda w: search(w).question_lang,
        comparison=lambda w: search(w).comparison,
        code=lambda w: code_digest(
            "search_passages.py",
            f"needlework/data/comparison/{search(w).comparison}.py",
        ),
    message:
        "Ranking passages in {wildcards.lang} ({wildcards.retrieval})"
    script:
        "../scripts/search_passages.py"


rule measure_similarity:
    input:
        unpack(lambda w: files.prompts.of(w.benchmark, w.tokenizer)),
    output:
        "results/similarity/{benchmark}/{tokenizer}.parquet",
    log:
        "logs/measure_similarity/{benchmark}/{tokenizer}.log",
    benchmark:
        "benchmarks/measure_similarity/{benchmark}/{tokenizer}.tsv"
    conda:
        environment(EMBEDDER.kind)
    threads: job_threads(EMBEDDER)
    resources:
        gpu=job_gpus(EMBEDDER),
        nodes=1,
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 120 * attempt,
    params:
        name=config["retrieval"]["embedder"],
        embedder=files.retrieval.embedder_settings(config["retrieval"]["embedder"]),
        code=code_digest("measure_similarity.py"),
    message:
        "Comparing needles and distractors of {wildcards.benchmark}"
    script:
        "../scripts/measure_similarity.py"


rule choose_distractors:
    input:
        questions=lambda w: f"results/corpora/{search(w).needles}/{search(w).question_lang}.parquet",
        passages=lambda w: f"results/corpora/{search(w).haystack}/{w.lang}.parquet",
        rankings=lambda w: expand(
            f"results/distractors/{w.benchmark}/{w.lang}.{{retrieval}}.npy",
            retrieval=search(w).kinds,
        ),
    output:
        "results/distractors/{benchmark}/{lang}.parquet",
    log:
        "logs/choose_distractors/{benchmark}/{lang}.log",
    benchmark:
        "benchmarks/choose_distractors/{benchmark}/{lang}.tsv"
    conda:
        "../../envs/retrieval.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        top=config["retrieval"]["top"],
        retrieval=lambda w: search(w).kinds,
        code=code_digest("choose_distractors.py"),
    message:
        "Choosing distractors in {wildcards.lang}"
    script:
        "../scripts/choose_distractors.py"
