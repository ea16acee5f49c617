# The explorer: every prompt, answer and verdict of the run in a folder of static files.

from needlework.layout import resource


def explorer_files(benchmark):
    """The files of a benchmark's prompts and answers, and its title."""
    return {
        "title": files.plan(benchmark).TITLE,
        "prompts": {
            tokenizer: {
                "instances": files.instances(benchmark, tokenizer),
                **files.document_inputs(benchmark, tokenizer),
            }
            for tokenizer in dict.fromkeys(
                map(files.tokenizer, config["run"]["models"])
            )
        },
        "answers": {
            model: {
                "tokenizer": files.tokenizer(model),
                "scores": f"results/scores/{model}/{benchmark}.parquet",
                **{
                    kind: path
                    for kind, path in files.scoring_inputs(benchmark, model).items()
                    if kind in ("generations", "translations")
                },
            }
            for model in config["run"]["models"]
        },
    }


EXPLORED = {name: explorer_files(name) for name in config["run"]["benchmarks"]}


rule explorer:
    input:
        prompts=[
            path
            for own in EXPLORED.values()
            for kinds in own["prompts"].values()
            for paths in kinds.values()
            for path in paths
        ],
        answers=[
            path
            for own in EXPLORED.values()
            for kinds in own["answers"].values()
            for kind, path in kinds.items()
            if kind != "tokenizer"
        ],
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
    resources:
        mem_mb=lambda w, attempt: 8000 * attempt,
        runtime=240,
    params:
        files=EXPLORED,
        code=code_digest("write_explorer.py"),
    message:
        "Writing the explorer"
    script:
        "../scripts/write_explorer.py"
