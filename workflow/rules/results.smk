# The benchmarks' tables and figures. Those that are made of the same rows are made by one job, which
# reads them once; each is a target of its own: `mlneedle_table1`, `oneruler_figure3` ...

for name in config["run"]["benchmarks"]:
    plan = files.plan(name)

    for needs, tables in files.results_by_needs(name, "tables").items():

        rule:
            name:
                f"{name}_tables_of_{needs}"
            input:
                rows=files.result_rows(name, needs),
                published=files.published(name),
            output:
                csv=[
                    report(
                        f"results/tables/{name}/{table}.csv",
                        caption=f"../report/{name}_{table}.rst",
                        category=plan.TITLE,
                        subcategory="Tables",
                        labels={"result": result.title},
                    )
                    for table, result in tables.items()
                ],
                tex=[f"results/tables/{name}/{table}.tex" for table in tables],
            log:
                f"logs/{name}/tables_of_{needs}.log",
            benchmark:
                f"benchmarks/{name}/tables_of_{needs}.tsv"
            conda:
                "../../envs/figures.yaml"
            resources:
                mem_mb=lambda w, attempt: 4000 * attempt,
                runtime=60,
            params:
                benchmark=name,
                names=list(tables),
                needs=needs,
                settings=files.result_settings(name, needs),
                code=code_digest(
                    "make_tables.py", f"needlework/benchmarks/{name}/tables.py"
                ),
            message:
                f"{plan.TITLE}: {', '.join(tables)}"
            script:
                "../scripts/make_tables.py"

        for table in tables:

            rule:
                name:
                    f"{name}_{table}"
                input:
                    f"results/tables/{name}/{table}.csv",
                    f"results/tables/{name}/{table}.tex",
                localrule: True

    for needs, figures in files.results_by_needs(name, "figures").items():

        rule:
            name:
                f"{name}_figures_of_{needs}"
            input:
                rows=files.result_rows(name, needs),
                published=files.published(name),
            output:
                svg=[
                    report(
                        f"results/figures/{name}/{figure}.svg",
                        caption=f"../report/{name}_{figure}.rst",
                        category=plan.TITLE,
                        subcategory="Figures",
                        labels={"result": result.title},
                    )
                    for figure, result in figures.items()
                ],
                pdf=[f"results/figures/{name}/{figure}.pdf" for figure in figures],
                png=[f"results/figures/{name}/{figure}.png" for figure in figures],
                csv=[f"results/figures/{name}/{figure}.csv" for figure in figures],
            log:
                f"logs/{name}/figures_of_{needs}.log",
            benchmark:
                f"benchmarks/{name}/figures_of_{needs}.tsv"
            conda:
                "../../envs/figures.yaml"
            resources:
                mem_mb=lambda w, attempt: 4000 * attempt,
                runtime=60,
            params:
                benchmark=name,
                names=list(figures),
                needs=needs,
                settings=files.result_settings(name, needs),
                code=code_digest(
                    "draw_figures.py", f"needlework/benchmarks/{name}/figures.py"
                ),
            message:
                f"{plan.TITLE}: {', '.join(figures)}"
            script:
                "../scripts/draw_figures.py"

        for figure in figures:

            rule:
                name:
                    f"{name}_{figure}"
                input:
                    f"results/figures/{name}/{figure}.svg",
                    f"results/figures/{name}/{figure}.pdf",
                    f"results/figures/{name}/{figure}.png",
                localrule: True


# Any other result is refused by its name, which says what would fill it.
for target, remedy in files.unfilled().items():

    rule:
        name:
            target
        input:
            lambda w, remedy=remedy: refuse(remedy),
        localrule: True
