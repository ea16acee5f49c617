# Distractors: embed questions and passages, rank, choose.


rule embed_corpus:
    input:
        lambda w: files.corpus(w.corpus, w.part.split(".")[0]),
    output:
        "results/embeddings/{embedder}/{corpus}/{part}.npy",
    log:
        "logs/embed_corpus/{embedder}/{corpus}/{part}.log",
    benchmark:
        "benchmarks/embed_corpus/{embedder}/{corpus}/{part}.tsv"
    conda:
        lambda w: environment(config["embedders"][w.embedder]["kind"])
    threads: lambda w: files.embedding_threads(w.embedder)
    resources:
        gpu=lambda w: files.embedding_gpus(w.embedder),
        nodes=1,
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 120 * attempt,
    params:
        embedder=lambda w: files.embedder_settings(w.embedder),
        code=code_digest("embed_corpus.py"),
    message:
        "Embedding {wildcards.corpus} {wildcards.part}"
    script:
        "../scripts/embed_corpus.py"


rule search_passages:
    input:
        unpack(lambda w: files.search_inputs(w.benchmark, w.retrieval, w.lang, w.shard)),
    output:
        temp("results/distractors/{benchmark}/{lang}.{retrieval}.{shard}.npy"),
    log:
        "logs/search_passages/{benchmark}/{lang}.{retrieval}.{shard}.log",
    benchmark:
        "benchmarks/search_passages/{benchmark}/{lang}.{retrieval}.{shard}.tsv"
    conda:
        lambda w: (
            "../../envs/retrieval-gpu.yaml"
            if files.search_gpus(w.retrieval)
            else "../../envs/retrieval.yaml"
        )
    threads: 4
    resources:
        gpu=lambda w: files.search_gpus(w.retrieval),
        nodes=1,
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
    params:
        retrieval=lambda w: w.retrieval,
        top=config["retrieval"]["top"],
        question_lang=lambda w: files.search(w.benchmark, w.lang).question_lang,
        comparison=lambda w: files.search(w.benchmark, w.lang).comparison,
        code=lambda w: code_digest(
            "search_passages.py",
            f"needlework/metrics/{files.search(w.benchmark, w.lang).comparison}.py",
        ),
    message:
        "Ranking passages in {wildcards.lang} ({wildcards.retrieval})"
    script:
        "../scripts/search_passages.py"


rule choose_distractors:
    input:
        unpack(lambda w: files.distractor_inputs(w.benchmark, w.lang)),
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
        retrieval=lambda w: files.search(w.benchmark, w.lang).kinds,
        code=code_digest("choose_distractors.py"),
    message:
        "Choosing distractors in {wildcards.lang}"
    script:
        "../scripts/choose_distractors.py"
