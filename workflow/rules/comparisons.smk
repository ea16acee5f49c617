# Which models differ: `snakemake compare`, or `<benchmark>_comparisons` for one benchmark.

from needlework.planning.audits import compared, pairs

for name in config["run"]["benchmarks"]:

    rule:
        name:
            f"{name}_comparisons"
        input:
            lambda w, name=name: list(comparison(compared, name).values()),
        output:
            csv=f"results/comparisons/{name}.csv",
            text=f"results/comparisons/{name}.txt",
            tex=f"results/comparisons/{name}.tex",
            svg=report(
                f"results/comparisons/{name}.svg",
                caption="../report/comparisons.rst",
                category=files.benchmark(name).title,
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
            title=files.benchmark(name).title,
            factors=files.benchmark(name).asked,
            sides=lambda w, name=name: comparison(compared, name),
            pairs=lambda w, name=name: comparison(pairs, name),
            code=code_digest("compare_models.py"),
        message:
            f"Comparing models on {name}"
        script:
            "../scripts/compare_models.py"


# Without an output it runs every time, so a run that compares nothing anew prints the sentences too.
rule compare:
    input:
        [f"results/comparisons/{name}.txt" for name in config["run"]["benchmarks"]],
    log:
        "logs/compare.log",
    localrule: True
    conda:
        "../../envs/figures.yaml"
    message:
        "Comparing models"
    shell:
        "cat {input} > {log}"
