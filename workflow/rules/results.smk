# The benchmarks' tables and figures, as each benchmark describes them. For those with the same input rows
# there are two jobs: one for the numbers, one for tables and figures. Each is a target of its own:
# `mlneedle_table1`, `oneruler_figure3` ...

from needlework.planning.digests import numbers_digest, shown_digest

# The files that `snakemake` without a target makes.
RESULTS = [
    *(
        f"results/{result.kind}/{name}/{result.name}.{ending}"
        for name in config["run"]["benchmarks"]
        for result in files.results(name)
        for ending in ("csv", *result.endings)
    ),
    *expand(
        "results/tables/{benchmark}/prompts-{tokenizer}.csv",
        benchmark=config["run"]["benchmarks"],
        tokenizer=files.tokenizers,
    ),
    "results/tables/columns.csv",
]

for name in config["run"]["benchmarks"]:
    benchmark = files.benchmark(name)
    # The inputs of results (`Result.needs`).
    rows = {
        "scores": expand(
            f"results/scores/{{model}}/{name}.parquet", model=config["run"]["models"]
        ),
        "ceilings": [f"results/translation_ceilings/{name}.parquet"],
        "instances": expand(
            f"results/instances/{name}/{{tokenizer}}/{{slice}}.parquet",
            tokenizer=files.tokenizers,
            slice=files.slices(name),
        ),
        "token_counts": expand(
            f"results/token_counts/{name}/{{tokenizer}}.parquet",
            tokenizer=files.tokenizers,
        ),
        "books": expand(
            f"results/token_counts/{name}/books/{{tokenizer}}.parquet",
            tokenizer=files.tokenizers,
        ),
        "published": files.published(name),
    }

    for needs, results in files.results_by_needs(name).items():

        rule:
            name:
                f"{name}_numbers_of_{needs}"
            input:
                rows=rows[needs],
                published=files.published(name),
            output:
                [
                    (
                        report(
                            f"results/tables/{name}/{result.name}.csv",
                            caption=caption_file(name, result),
                            category=benchmark.title,
                            subcategory="Tables",
                            labels={"result": result.label},
                        )
                        if result.kind == "tables"
                        else f"results/figures/{name}/{result.name}.csv"
                    )
                    for result in results
                ],
            log:
                f"logs/{name}/numbers_of_{needs}.log",
            benchmark:
                f"benchmarks/{name}/numbers_of_{needs}.tsv"
            conda:
                "../../envs/figures.yaml"
            resources:
                mem_mb=lambda w, attempt: 4000 * attempt,
                runtime=60,
            params:
                benchmark=name,
                names=[result.name for result in results],
                needs=needs,
                run=files.run_settings(name, needs),
                code=numbers_digest(name),
            message:
                f"{benchmark.title}: numbers of {len(results)} results"
            script:
                "../scripts/make_numbers.py"

        rule:
            name:
                f"{name}_results_of_{needs}"
            input:
                [
                    f"results/{result.kind}/{name}/{result.name}.csv"
                    for result in results
                ],
            output:
                tex=[
                    f"results/tables/{name}/{result.name}.tex"
                    for result in results
                    if result.kind == "tables"
                ],
                html=[
                    f"results/tables/{name}/{result.name}.html"
                    for result in results
                    if result.kind == "tables"
                ],
                svg=[
                    report(
                        f"results/figures/{name}/{result.name}.svg",
                        caption=caption_file(name, result),
                        category=benchmark.title,
                        subcategory="Figures",
                        labels={"result": result.label},
                    )
                    for result in results
                    if result.kind == "figures"
                ],
                pictures=[
                    f"results/figures/{name}/{result.name}.{ending}"
                    for result in results
                    if result.kind == "figures"
                    for ending in ("pdf", "png", "txt")
                ],
            log:
                f"logs/{name}/results_of_{needs}.log",
            benchmark:
                f"benchmarks/{name}/results_of_{needs}.tsv"
            conda:
                "../../envs/figures.yaml"
            resources:
                mem_mb=lambda w, attempt: 4000 * attempt,
                runtime=60,
            params:
                benchmark=name,
                names=[result.name for result in results],
                run=files.run_settings(name, needs),
                figures=config["figures"],
                code=shown_digest(name),
            message:
                f"{benchmark.title}: {', '.join(result.name for result in results)}"
            script:
                "../scripts/show_results.py"

        for result in results:

            rule:
                name:
                    f"{name}_{result.name}"
                input:
                    [
                        f"results/{result.kind}/{name}/{result.name}.{ending}"
                        for ending in ("csv", *result.endings)
                    ],
                localrule: True


# A result that the configuration cannot fill: the error says what it needs.
for target, remedy in files.unfilled().items():

    rule:
        name:
            target
        input:
            lambda w, remedy=remedy: refuse(remedy),
        localrule: True
