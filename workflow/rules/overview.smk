# What the run found, on one page: results/index.html.

from needlework.planning.layout import resource

SHOWN = {
    name: {
        "title": files.benchmark(name).title,
        "scores": expand(
            "results/scores/{model}/{benchmark}.parquet",
            model=config["run"]["models"],
            benchmark=name,
        ),
        "tables": shown_results(name, "tables", "csv"),
        "figures": shown_results(name, "figures", "svg"),
    }
    for name in config["run"]["benchmarks"]
}


rule overview:
    input:
        scores=[path for own in SHOWN.values() for path in own["scores"]],
        results=[
            entry["file"]
            for own in SHOWN.values()
            for kind in ("tables", "figures")
            for entry in own[kind].values()
        ],
        template=resource("overview/index.html.j2"),
    output:
        "results/index.html",
    log:
        "logs/overview.log",
    benchmark:
        "benchmarks/overview.tsv"
    conda:
        "../../envs/overview.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=30,
    params:
        benchmarks=SHOWN,
        models=config["run"]["models"],
        code=code_digest("write_overview.py"),
    message:
        "Writing the overview"
    script:
        "../scripts/write_overview.py"
