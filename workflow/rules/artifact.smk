# The run as one file for reviewers, `snakemake artifact`, and a check of a folder, `snakemake verify`.

from needlework.planning.layout import resource

# Which rule writes which files: (rule, its outputs, its benchmark file). Rules that are included later
# than this file are not known.
WRITERS = [
    (
        own.name,
        [str(path) for path in own.output],
        str(own.benchmark) if own.benchmark else None,
    )
    for own in workflow.rules
    if own.output
]


rule artifact:
    input:
        RESULTS,
        explorer="results/explorer",
        provenance="results/provenance.json",
        registry=resource("sources.yaml"),
    output:
        "results/artifact.crate.zip",
    log:
        "logs/artifact.log",
    benchmark:
        "benchmarks/artifact.tsv"
    localrule: True
    conda:
        "../../envs/artifact.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        rules=WRITERS,
        code=code_digest("write_artifact.py"),
    message:
        "Packing the run for reviewers"
    script:
        "../scripts/write_artifact.py"


# It checks the results as they are: no input, which would make them anew, and no output.
rule verify:
    log:
        "logs/verify.log",
    localrule: True
    conda:
        "../../envs/artifact.yaml"
    params:
        provenance="results/provenance.json",
    message:
        "Comparing the results with their seal"
    script:
        "../scripts/verify_results.py"
