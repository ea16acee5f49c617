# The benchmarks' tables and figures, as each benchmark describes them. For those with the same input rows
# there are two jobs: one for the numbers, one for tables and figures. Each is a target of its own:
# `mlneedle_table1`, `oneruler_figure3` ...

from needlework.planning.affects import numbers_digest, shown_digest
from needlework.planning.compared_runs import compared_files, pairs

# The titles of all results by their CSV files.
TITLES = files.results.titles()
# The files that `snakemake` without a target makes.
RESULTS = [
    *files.results.result_files(),
    *expand(
        "results/tables/{benchmark}/prompts-{tokenizer}.csv",
        benchmark=BENCHMARKS,
        tokenizer=files.prompts.tokenizers,
    ),
    "results/tables/columns.csv",
    *files.pages.card_files(),
]


for name in BENCHMARKS:
    title = load_benchmark(name).title

    # Results that are made of the same files, by `Result.needs`.
    for needs, results in files.results.by_needs(name).items():
        tables = [result for result in results if result.kind == "tables"]
        figures = [result for result in results if result.kind == "figures"]

        rule:
            name:
                f"{name}_numbers_of_{needs}"
            input:
                rows=files.results.rows(name)[needs],
                published=files.facts.published(name),
            output:
                # results/{tables,figures}/{name}/{result}.csv
                [numbers(name, result) for result in results],
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
                run=files.facts.run_settings(name, needs),
                code=numbers_digest(name),
            message:
                f"{title}: numbers of {len(results)} results"
            script:
                "../scripts/make_numbers.py"

        rule:
            name:
                f"{name}_results_of_{needs}"
            input:
                [result_file(name, result, "csv") for result in results],
            output:
                tex=[f"results/tables/{name}/{result.name}.tex" for result in tables],
                html=[f"results/tables/{name}/{result.name}.html" for result in tables],
                svg=[
                    in_report(
                        name, result, f"results/figures/{name}/{result.name}.svg"
                    )
                    for result in figures
                ],
                pictures=[
                    f"results/figures/{name}/{result.name}.{ending}"
                    for result in figures
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
                run=files.facts.run_settings(name, needs),
                figures=config["figures"],
                code=shown_digest(name),
            message:
                f"{title}: {', '.join(result.name for result in results)}"
            script:
                "../scripts/show_results.py"

        for result in results:

            rule:
                name:
                    f"{name}_{result.name}"
                input:
                    files.results.files_of_result(name, result),
                localrule: True


# A result that the configuration cannot fill: the error says what it needs.
for target, remedy in files.results.unfilled().items():

    rule:
        name:
            target
        input:
            lambda w, remedy=remedy: refuse(remedy),
        localrule: True


# What each column of the CSV files is, beside them.
rule columns:
    input:
        numbers=list(TITLES),
        meanings=resource("columns.csv"),
    output:
        "results/tables/columns.csv",
    log:
        "logs/columns.log",
    benchmark:
        "benchmarks/columns.tsv"
    localrule: True
    conda:
        "../../envs/corpora.yaml"
    params:
        titles=list(TITLES.values()),
        benchmarks=BENCHMARKS,
        code=code_digest("describe_columns.py"),
    message:
        "Columns of all tables and figures"
    script:
        "../scripts/describe_columns.py"


# Which models differ: `snakemake compare`, or `<benchmark>_comparisons` for one benchmark.
for name in BENCHMARKS:

    rule:
        name:
            f"{name}_comparisons"
        input:
            lambda w, name=name: list(comparison(compared_files, name).values()),
        output:
            csv=f"results/comparisons/{name}.csv",
            text=f"results/comparisons/{name}.txt",
            tex=f"results/comparisons/{name}.tex",
            svg=report(
                f"results/comparisons/{name}.svg",
                caption="../report/comparisons.rst",
                category=load_benchmark(name).title,
                subcategory="Comparisons",
                labels={"result": "Models compared"},
            ),
            pictures=[f"results/comparisons/{name}.{end}" for end in ("pdf", "png")],
        log:
            f"logs/{name}/comparisons.log",
        benchmark:
            f"benchmarks/{name}/comparisons.tsv"
        conda:
            "../../envs/figures.yaml"
        resources:
            mem_mb=lambda w, attempt: 4000 * attempt,
            runtime=60,
        params:
            benchmark=name,
            title=load_benchmark(name).title,
            factors=load_benchmark(name).asked,
            sides=lambda w, name=name: comparison(compared_files, name),
            pairs=lambda w, name=name: comparison(pairs, name),
            code=code_digest("compare_models.py"),
        message:
            f"Comparing models on {name}"
        script:
            "../scripts/compare_models.py"


# Without an output it runs every time, so a run that compares nothing anew prints the sentences too.
rule compare:
    input:
        [f"results/comparisons/{name}.txt" for name in BENCHMARKS],
    log:
        "logs/compare.log",
    localrule: True
    conda:
        "../../envs/figures.yaml"
    message:
        "Comparing models"
    shell:
        "cat {input} > {log}"
