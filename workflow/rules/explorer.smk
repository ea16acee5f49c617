# The explorer: every prompt, answer and verdict of the run in a folder of static files.

from needlework.planning.layout import resource

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
    threads: 2
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
