# Every number that the papers print beside ours: `snakemake reproduction`. Those that need no model, without
# asking any: `snakemake reproduction_without_models`.

from needlework.planning.layout import resource

for wanted, title in {
    "reproduction": "Every printed number",
    "reproduction_without_models": "Every printed number that needs no model",
}.items():
    alone = wanted == "reproduction_without_models"
    beside = {
        name: {
            "title": files.benchmark(name).title,
            "factors": list(files.benchmark(name).columns),
            "published": next(iter(files.published(name)), None),
            "results": {
                result.name: f"results/{result.kind}/{name}/{result.name}.csv"
                for result in files.results(name)
                # Printed numbers beside each other are no verdict on a run.
                if result.needs
                not in (("scores", "ceilings") if alone else ("published",))
            },
            "scores": (
                []
                if alone
                else expand(
                    "results/scores/{model}/{benchmark}.parquet",
                    model=config["run"]["models"],
                    benchmark=name,
                )
            ),
        }
        for name in config["run"]["benchmarks"]
    }

    rule:
        name:
            f"make_{wanted}"
        input:
            results=[
                path for own in beside.values() for path in own["results"].values()
            ],
            scores=[path for own in beside.values() for path in own["scores"]],
            published=[own["published"] for own in beside.values() if own["published"]],
            reasons=resource("reasons.csv"),
        output:
            csv=report(
                f"results/{wanted}.csv",
                caption="../report/reproduction.rst",
                category="Reproduction",
                labels={"result": title},
            ),
            counts=f"results/{wanted}_reasons.csv",
            svg=report(
                f"results/{wanted}.svg",
                caption="../report/reproduction.rst",
                category="Reproduction",
                labels={"result": title},
            ),
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
            beside_alone=alone,
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
