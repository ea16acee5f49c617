# What a reader of the results opens: report cards, the explorer and results/index.html; and where they are from.

from needlework.planning.affects import effective_config, page_digest
from needlework.results.drawing.style import model_colours

# The models with a report card; and what the numbers of cards and page are made from, by benchmark.
CARD_MODELS = files.answers.card_models()
NUMBERED = files.pages.page_numbers()
# The files and texts of each benchmark for results/index.html, and what was run, in words.
SHOWN = {name: files.pages.overview(name) for name in BENCHMARKS}
RAN = files.pages.ran(
    workflow.config_settings.configfiles, workflow.config_settings.config or {}
)
OVERVIEW = resource("overview/index.html.j2")


# The means, curves and comparisons that report cards, results/index.html and the terminal show.
rule page_numbers:
    input:
        scores=paths([own["scores"] for own in NUMBERED.values()]),
        published=paths([own["published"] for own in NUMBERED.values()]),
    output:
        means="results/numbers/means.csv",
        points="results/numbers/points.csv",
        comparisons="results/numbers/comparisons.csv",
        answers="results/numbers/answers.csv",
    log:
        "logs/page_numbers.log",
    benchmark:
        "benchmarks/page_numbers.tsv"
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=60,
    params:
        benchmarks=NUMBERED,
        models=files.pages.shown_models(),
        code=page_digest(NUMBERED),
    message:
        "Numbers of the page of results"
    script:
        "../scripts/make_page_numbers.py"


# `snakemake report_cards`: where the answers of each model fail, in one picture.
rule report_card:
    input:
        points="results/numbers/points.csv",
        comparisons="results/numbers/comparisons.csv",
        answers="results/numbers/answers.csv",
    output:
        svg=report(
            "results/cards/{model}.svg",
            caption="../report/card.rst",
            category="Report cards",
            labels={"model": "{model}"},
        ),
        text="results/cards/{model}.txt",
        pictures=[f"results/cards/{{model}}.{ending}" for ending in ("pdf", "png")],
        forms=[f"results/cards/{form}/{{model}}.svg" for form in ("page", "phone")],
    log:
        "logs/report_card/{model}.log",
    benchmark:
        "benchmarks/report_card/{model}.tsv"
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=30,
    params:
        titles={name: load_benchmark(name).title for name in NUMBERED},
        colours=model_colours(CARD_MODELS, config["figures"]["coloured"]),
        code=code_digest("draw_card.py"),
    message:
        "Report card of {wildcards.model}"
    script:
        "../scripts/draw_card.py"


rule report_cards:
    input:
        (
            files.pages.card_files()
            or (
                lambda w: refuse(
                    "This run has no model: report cards are of models that are no "
                    "built-in readers. Add one to run.models."
                )
            )
        ),
    localrule: True


# Every prompt, answer and verdict of the run in a folder of static files.
rule explorer:
    input:
        **files.explorer.explorer_inputs(),
        program=resource("explorer/explorer.js"),
        style=resource("explorer/explorer.css"),
    output:
        directory("results/explorer"),
    log:
        "logs/explorer.log",
    benchmark:
        "benchmarks/explorer.tsv"
    conda:
        "../../envs/instances.yaml"
    threads: 2
    resources:
        mem_mb=lambda w, attempt: 8000 * attempt,
        runtime=240,
    params:
        files={name: files.explorer.explored(name) for name in BENCHMARKS},
        code=code_digest("write_explorer.py"),
    message:
        "Writing the explorer"
    script:
        "../scripts/write_explorer.py"


rule overview:
    input:
        scores=paths([own["scores"] for own in SHOWN.values()]),
        # What became of the requests.
        generations=paths(files.answers.generation_files()),
        # results/{tables,figures}/{benchmark}/{result}.{csv,html,svg ...}
        results=files.pages.overview_results(),
        cards=expand("results/cards/page/{model}.svg", model=CARD_MODELS),
        numbers=rules.page_numbers.output,
        # Their sentences.
        texts=expand("results/cards/{model}.txt", model=CARD_MODELS),
        reproduction=["results/reproduction.csv", "results/reproduction.svg"],
        own_data=OWN_DATA if OWN_TABLES else [],
        judged=JUDGED,
        instances=own_data_instances(files.prompts),
        template=OVERVIEW,
        parts=files.pages.overview_parts(),
    output:
        page="results/index.html",
        benchmarks=[f"results/{name}.html" for name in SHOWN],
        summary=SUMMARY,
        lines="results/summary.txt",
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
        models=MODELS,
        shown=files.pages.shown_models(),
        run={**RAN, "coloured": config["figures"]["coloured"]},
        code=code_digest("write_overview.py"),
    message:
        "Writing the overview"
    script:
        "../scripts/write_overview.py"


# The inputs, software and hardware of the results, written at the end of a run.
rule provenance:
    input:
        results=[*RESULTS, *JUDGED[:-1]],
        scores=expand(
            "results/scores/{model}/{benchmark}.parquet",
            model=MODELS,
            benchmark=BENCHMARKS,
        ),
        generations=paths(files.answers.generation_files()),
        translations=files.scores.translations(),
        registry=resource("sources.yaml"),
    output:
        "results/provenance.json",
    log:
        "logs/provenance.log",
    benchmark:
        "benchmarks/provenance.tsv"
    localrule: True
    conda:
        "../../envs/corpora.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        configuration=effective_config(files.config),
        generations=files.answers.generation_files(),
        code=code_digest("write_provenance.py"),
    message:
        "Writing the provenance of the results"
    script:
        "../scripts/write_provenance.py"
