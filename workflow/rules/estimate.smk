# `snakemake estimate`: the cost of a run. It builds the prompts, loads no model, and runs every time, since
# the requests left change with the journal, which is not a file of the workflow. So the rule has no output,
# and no `benchmark`, whose file would count as one. It prints to the terminal, so it is a local rule.

# The files of all prompts, by benchmark and tokenizer.
PROMPTS = {
    benchmark: {
        tokenizer: prompts(benchmark, tokenizer)
        for tokenizer in map(files.tokenizer, config["run"]["models"])
    }
    for benchmark in config["run"]["benchmarks"]
}


rule estimate:
    input:
        [
            paths
            for tokenizers in PROMPTS.values()
            for kinds in tokenizers.values()
            for paths in kinds.values()
        ],
    log:
        "logs/estimate.log",
    localrule: True
    conda:
        "../../envs/generation.yaml"
    resources:
        mem_mb=8000,
        runtime=60,
    params:
        table="results/estimate.csv",
        subset="results/subset.yaml",
        files=PROMPTS,
        lengths={
            model: {
                benchmark: lengths_of(config, model, benchmark)
                for benchmark in PROMPTS
            }
            for model in config["run"]["models"]
        },
        only={
            model: {
                benchmark: only_of(config, model, benchmark) for benchmark in PROMPTS
            }
            for model in config["run"]["models"]
        },
        factors={
            benchmark: ["task", "example_id", *files.benchmark(benchmark).columns]
            for benchmark in PROMPTS
        },
        asked={benchmark: files.benchmark(benchmark).asked for benchmark in PROMPTS},
        gpus={
            model: job_gpus(config["models"][model])
            for model in config["run"]["models"]
        },
    message:
        "Estimating what is left to do"
    script:
        "../scripts/estimate_work.py"
