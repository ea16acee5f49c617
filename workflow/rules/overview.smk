# The run's results on one page: results/index.html.

from needlework.planning.layout import resource

SHOWN = {
    name: {
        "title": files.benchmark(name).title,
        "closed_book": files.benchmark(name).closed_book,
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
# Only `snakemake repeatability` makes this file, so it may be missing.
REPEATED_TABLE = "results/tables/repeatability.csv"


rule overview:
    input:
        scores=[path for own in SHOWN.values() for path in own["scores"]],
        results=[
            path
            for own in SHOWN.values()
            for kind in ("tables", "figures")
            for entry in own[kind].values()
            for path in dict.fromkeys((entry["numbers"], entry["file"]))
        ],
        repeated=[REPEATED_TABLE] if Path(REPEATED_TABLE).is_file() else [],
        template=resource("overview/index.html.j2"),
        parts=[
            resource(f"overview/{part}")
            for part in (
                *("means.css", "agreement.css", "means.html.j2", "grid.html.j2"),
                *("cell.html.j2", "warnings.html.j2", "agreement.html.j2"),
                "summary.html.j2",
            )
        ],
    output:
        page="results/index.html",
        summary=SUMMARY,
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
