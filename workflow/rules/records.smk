# The results in the field's exchange format: `snakemake records`.

from needlework.results.exchange import bounds


rule records:
    input:
        results=[
            f"results/{result.kind}/{name}/{result.name}.csv"
            for name in config["run"]["benchmarks"]
            for result in files.results(name)
            if result.needs == "scores"
        ],
        answers=expand(
            "results/{kind}/{model}/{benchmark}.parquet",
            kind=KINDS,
            model=config["run"]["models"],
            benchmark=config["run"]["benchmarks"],
        ),
        instances=[
            path
            for name in config["run"]["benchmarks"]
            for tokenizer in dict.fromkeys(
                map(files.tokenizer, config["run"]["models"])
            )
            for path in prompts(name, tokenizer)["instances"]
        ],
        published=[
            path
            for name in config["run"]["benchmarks"]
            for path in files.published(name)
        ],
        provenance="results/provenance.json",
    output:
        directory("results/records"),
    log:
        "logs/records.log",
    benchmark:
        "benchmarks/records.tsv"
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=lambda w, attempt: 8000 * attempt,
        runtime=240,
    params:
        benchmarks=[
            {
                "name": name,
                "title": files.benchmark(name).title,
                "paper": files.benchmark(name).paper,
                "data": files.benchmark(name).data(files.settings(name))[0],
                "metric": files.settings(name).get("metric") or "score",
                "published": next(iter(files.published(name)), None),
                "results": {
                    result.name: (
                        f"results/{result.kind}/{name}/{result.name}.csv",
                        result.label,
                        bounds(result),
                    )
                    for result in files.results(name)
                    if result.needs == "scores"
                },
                "answers": {
                    model: (
                        f"results/generations/{model}/{name}.parquet",
                        f"results/scores/{model}/{name}.parquet",
                        prompts(name, files.tokenizer(model))["instances"],
                    )
                    for model in config["run"]["models"]
                },
            }
            for name in config["run"]["benchmarks"]
        ],
        settings=config["records"],
        code=code_digest("write_records.py"),
    message:
        "Writing records for exchange"
    script:
        "../scripts/write_records.py"
