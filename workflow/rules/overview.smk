# The run's results: results/index.html, and a page for each benchmark beside it.

SHOWN = {
    name: {
        "title": files.benchmark(name).title,
        "asked": files.benchmark(name).asked,
        "data": files.data(name),
        "closed_book": files.benchmark(name).closed_book,
        "designed": files.benchmark(name).designed[1],
        "task_names": files.benchmark(name).task_names,
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
# What was run, in words.
RAN = files.ran(
    workflow.config_settings.configfiles, workflow.config_settings.config or {}
)
OVERVIEW = resource("overview/index.html.j2")


rule overview:
    input:
        scores=[path for own in SHOWN.values() for path in own["scores"]],
        # What became of the requests.
        generations=expand(
            "results/generations/{model}/{benchmark}.parquet",
            model=config["run"]["models"],
            benchmark=config["run"]["benchmarks"],
        ),
        results=[
            path
            for own in SHOWN.values()
            for kind in ("tables", "figures")
            for entry in own[kind].values()
            for path in dict.fromkeys(
                entry[part] for part in ("numbers", "file", "shown")
            )
        ],
        cards=expand("results/cards/page/{model}.svg", model=CARD_MODELS),
        card_tables=list(CARD_NUMBERS.values()) if CARD_MODELS else [],
        # Their sentences.
        texts=expand("results/cards/{model}.txt", model=CARD_MODELS),
        reproduction=["results/reproduction.csv", "results/reproduction.svg"],
        own_data=OWN_DATA if OWN_TABLES else [],
        judged=JUDGED,
        # What was counted while prompts of the user's data were built.
        instances=[
            path
            for name in (config["run"]["benchmarks"] if OWN_TABLES else [])
            for path in prompts(name, files.text_tokenizer)["instances"]
        ],
        template=OVERVIEW,
        parts=[
            resource(f"overview/{part}")
            for part in (
                *("means.css", "agreement.css", "front.css", "front.html.j2"),
                *(
                    "base.html.j2",
                    "benchmark.html.j2",
                    "links.html.j2",
                    "figure.html.j2",
                ),
                *("finding.html.j2", "finding.css", "details.html.j2"),
                *("run.html.j2", "cards.html.j2", "controls.html.j2"),
                *("means.html.j2", "grid.html.j2", "cell.html.j2", "warnings.html.j2"),
                *("agreement.html.j2", "summary.html.j2", "account.html.j2"),
                *("reproduction.html.j2", "own_data.html.j2", "judge.html.j2"),
                *("table.html.j2", "tables.css", "sort.js"),
            )
        ],
    output:
        page="results/index.html",
        benchmarks=[f"results/{name}.html" for name in SHOWN],
        summary=SUMMARY,
        lines=LINES,
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
        run=RAN,
        code=code_digest("write_overview.py"),
    message:
        "Writing the overview"
    script:
        "../scripts/write_overview.py"
