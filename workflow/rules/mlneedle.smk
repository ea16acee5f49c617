# MLNeedle's tables and figures. Each is a target of its own: `mlneedle_table1`, `mlneedle_figure4` ...

if "mlneedle" in config["run"]["benchmarks"]:
    mlneedle = files.plan("mlneedle")

    for name in mlneedle.TABLES:

        rule:
            name:
                f"mlneedle_{name}"
            input:
                rows=files.table_rows("mlneedle", name),
                published=files.published("mlneedle"),
            output:
                csv=report(
                    f"results/tables/mlneedle/{name}.csv",
                    caption=f"../report/mlneedle_{name}.rst",
                    category="MLNeedle",
                    subcategory="Tables",
                    labels={"result": mlneedle.TABLES[name]},
                ),
                tex=f"results/tables/mlneedle/{name}.tex",
            log:
                f"logs/mlneedle/{name}.log",
            benchmark:
                f"benchmarks/mlneedle/{name}.tsv"
            conda:
                "../../envs/figures.yaml"
            resources:
                mem_mb=lambda w, attempt: 4000 * attempt,
                runtime=30,
            params:
                benchmark="mlneedle",
                name=name,
                settings=mlneedle.result_settings(config),
                code=code_digest(
                    "make_table.py", "needlework/benchmarks/mlneedle/tables.py"
                ),
            message:
                f"MLNeedle: {name}"
            script:
                "../scripts/make_table.py"

    for name in mlneedle.FIGURES:

        rule:
            name:
                f"mlneedle_{name}"
            input:
                scores=files.scores("mlneedle"),
                published=files.published("mlneedle"),
            output:
                svg=report(
                    f"results/figures/mlneedle/{name}.svg",
                    caption=f"../report/mlneedle_{name}.rst",
                    category="MLNeedle",
                    subcategory="Figures",
                    labels={"result": mlneedle.FIGURES[name]},
                ),
                pdf=f"results/figures/mlneedle/{name}.pdf",
                png=f"results/figures/mlneedle/{name}.png",
                csv=f"results/figures/mlneedle/{name}.csv",
            log:
                f"logs/mlneedle/{name}.log",
            benchmark:
                f"benchmarks/mlneedle/{name}.tsv"
            conda:
                "../../envs/figures.yaml"
            resources:
                mem_mb=lambda w, attempt: 4000 * attempt,
                runtime=30,
            params:
                benchmark="mlneedle",
                name=name,
                settings=mlneedle.result_settings(config),
                code=code_digest("plot.py", "needlework/benchmarks/mlneedle/figures.py"),
            message:
                f"MLNeedle: {name}"
            script:
                "../scripts/plot.py"
