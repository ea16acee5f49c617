# The numbers that the papers print beside ours: `snakemake reproduction`, or `reproduction_without_models`, which
# asks no model.

for wanted, title in {
    "reproduction": "Every printed number",
    "reproduction_without_models": "Every printed number that needs no model",
}.items():
    beside = files.results.reproduced(with_models=wanted == "reproduction")

    rule:
        name:
            f"make_{wanted}"
        input:
            results=paths([own["results"] for own in beside.values()]),
            scores=paths([own["scores"] for own in beside.values()]),
            published=paths([own["published"] for own in beside.values()]),
            reasons=resource("reasons.csv"),
        output:
            csv=reproduced(f"results/{wanted}.csv", title),
            counts=f"results/{wanted}_reasons.csv",
            svg=reproduced(f"results/{wanted}.svg", title),
            pictures=[f"results/{wanted}.{ending}" for ending in ("pdf", "png")],
        log:
            f"logs/{wanted}.log",
        benchmark:
            f"benchmarks/{wanted}.tsv"
        conda:
            "../../envs/figures.yaml"
        resources:
            mem_mb=lambda w, attempt: 4000 * attempt,
            runtime=30,
        params:
            benchmarks=beside,
            # Numbers beside which there is a result.
            beside_alone=wanted == "reproduction_without_models",
            code=code_digest("make_reproduction.py"),
        message:
            f"{title} beside ours"
        script:
            "../scripts/make_reproduction.py"

    rule:
        name:
            wanted
        input:
            [f"results/{wanted}.{ending}" for ending in ("csv", "svg", "pdf", "png")],
            f"results/{wanted}_reasons.csv",
        localrule: True
