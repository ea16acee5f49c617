# The inputs, software and hardware of the results, written at the end of a run.

from needlework.planning.effective_config import effective_config
from needlework.planning.layout import resource

# The files of answers, by model and benchmark.
GENERATIONS = {
    model: {
        benchmark: f"results/generations/{model}/{benchmark}.parquet"
        for benchmark in config["run"]["benchmarks"]
    }
    for model in config["run"]["models"]
}


rule provenance:
    input:
        results=[*RESULTS, *JUDGED[:-1]],
        scores=expand(
            "results/scores/{model}/{benchmark}.parquet",
            model=config["run"]["models"],
            benchmark=config["run"]["benchmarks"],
        ),
        generations=[path for own in GENERATIONS.values() for path in own.values()],
        translations=[
            path
            for model in config["run"]["models"]
            for name in config["run"]["benchmarks"]
            for path in translations(model, name)
        ],
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
        configuration=effective_config(config),
        generations=GENERATIONS,
        code=code_digest("write_provenance.py"),
    message:
        "Writing the provenance of the results"
    script:
        "../scripts/write_provenance.py"
