# What each column of the tables' and figures' CSV files is, beside them.

from needlework.planning.layout import resource

TITLES = {
    f"results/{result.kind}/{name}/{result.name}.csv": result.title
    for name in config["run"]["benchmarks"]
    for result in files.results(name)
}
TITLES |= {
    f"results/tables/{name}/prompts-{tokenizer}.csv": f"Prompts in {tokenizer}"
    for name in config["run"]["benchmarks"]
    for tokenizer in files.tokenizers
}


rule columns:
    input:
        numbers=list(TITLES),
        meanings=resource("columns.csv"),
    output:
        "results/tables/columns.csv",
    log:
        "logs/columns.log",
    benchmark:
        "benchmarks/columns.tsv"
    localrule: True
    conda:
        "../../envs/corpora.yaml"
    params:
        titles=list(TITLES.values()),
        benchmarks=config["run"]["benchmarks"],
        code=code_digest("describe_columns.py"),
    message:
        "Columns of all tables and figures"
    script:
        "../scripts/describe_columns.py"
