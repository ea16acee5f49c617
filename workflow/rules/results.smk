# The benchmarks' tables and figures. Each is a target of its own: `mlneedle_table1`, `oneruler_figure3` ...

for name in config["run"]["benchmarks"]:
    plan = files.plan(name)

    for table, result in files.results(name, "tables").items():

        rule:
            name:
                f"{name}_{table}"
            input:
                rows=files.result_rows(name, result),
                published=files.published(name),
            output:
                csv=report(
                    f"results/tables/{name}/{table}.csv",
                    caption=f"../report/{name}_{table}.rst",
                    category=plan.TITLE,
                    subcategory="Tables",
                    labels={"result": result.title},
                ),
                tex=f"results/tables/{name}/{table}.tex",
            log:
                f"logs/{name}/{table}.log",
            benchmark:
                f"benchmarks/{name}/{table}.tsv"
            conda:
                "../../envs/figures.yaml"
            resources:
                mem_mb=lambda w, attempt: 4000 * attempt,
                runtime=30,
            params:
                benchmark=name,
                name=table,
                needs=result.needs,
                settings=plan.result_settings(config),
                code=code_digest(
                    "make_table.py", f"needlework/benchmarks/{name}/tables.py"
                ),
            message:
                f"{plan.TITLE}: {table}"
            script:
                "../scripts/make_table.py"

    for figure, result in files.results(name, "figures").items():

        rule:
            name:
                f"{name}_{figure}"
            input:
                rows=files.result_rows(name, result),
                published=files.published(name),
            output:
                svg=report(
                    f"results/figures/{name}/{figure}.svg",
                    caption=f"../report/{name}_{figure}.rst",
                    category=plan.TITLE,
                    subcategory="Figures",
                    labels={"result": result.title},
                ),
                pdf=f"results/figures/{name}/{figure}.pdf",
                png=f"results/figures/{name}/{figure}.png",
                csv=f"results/figures/{name}/{figure}.csv",
            log:
                f"logs/{name}/{figure}.log",
            benchmark:
                f"benchmarks/{name}/{figure}.tsv"
            conda:
                "../../envs/figures.yaml"
            resources:
                mem_mb=lambda w, attempt: 4000 * attempt,
                runtime=30,
            params:
                benchmark=name,
                name=figure,
                needs=result.needs,
                settings=plan.result_settings(config),
                code=code_digest("plot.py", f"needlework/benchmarks/{name}/figures.py"),
            message:
                f"{plan.TITLE}: {figure}"
            script:
                "../scripts/plot.py"
