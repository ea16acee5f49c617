# The report card of each model: where its answers fail, in one picture. `snakemake report_cards`.

from needlework.planning.digests import card_digest

CARD_MODELS = files.card_models()
CARD_BENCHMARKS = {
    name: {
        "scores": expand(
            "results/scores/{model}/{benchmark}.parquet",
            model=CARD_MODELS,
            benchmark=name,
        ),
        "published": next(iter(files.published(name)), None),
        "run": files.run_settings(name, "scores"),
    }
    for name in config["run"]["benchmarks"]
    if files.benchmark(name).card
}
CARD_TITLES = {name: files.benchmark(name).title for name in CARD_BENCHMARKS}
CARD_NUMBERS = {
    name: f"results/tables/cards/{name}.csv"
    for name in ("points", "comparisons", "answers")
}
CARD_FILES = expand(
    ["results/cards/{model}.{ending}", "results/cards/page/{model}.svg"],
    model=CARD_MODELS,
    ending=["svg", "pdf", "png", "txt"],
)
# A run without a model has none.
RESULTS += [*CARD_FILES, *(CARD_NUMBERS.values() if CARD_MODELS else ())]


rule card_numbers:
    input:
        scores=[path for own in CARD_BENCHMARKS.values() for path in own["scores"]],
        published=[
            own["published"] for own in CARD_BENCHMARKS.values() if own["published"]
        ],
    output:
        **CARD_NUMBERS,
    log:
        "logs/card_numbers.log",
    benchmark:
        "benchmarks/card_numbers.tsv"
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=60,
    params:
        benchmarks=CARD_BENCHMARKS,
        models=CARD_MODELS,
        code=card_digest(CARD_BENCHMARKS),
    message:
        "Numbers of the report cards"
    script:
        "../scripts/make_cards.py"


rule report_card:
    input:
        **CARD_NUMBERS,
    output:
        svg=report(
            "results/cards/{model}.svg",
            caption="../report/card.rst",
            category="Report cards",
            labels={"model": "{model}"},
        ),
        pictures=[f"results/cards/{{model}}.{ending}" for ending in ("pdf", "png")],
        page="results/cards/page/{model}.svg",
        text="results/cards/{model}.txt",
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
        titles=CARD_TITLES,
        code=code_digest("draw_card.py"),
    message:
        "Report card of {wildcards.model}"
    script:
        "../scripts/draw_card.py"


rule report_cards:
    input:
        (
            CARD_FILES
            or (
                lambda w: refuse(
                    "This run has no model: report cards are of models that are no "
                    "built-in readers. Add one to run.models."
                )
            )
        ),
    localrule: True
