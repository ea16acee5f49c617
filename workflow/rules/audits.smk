# Does a setting change answers? `snakemake audit` compares the pairs of `run.audits` on the same prompts.

from needlework.planning.audits import audits, changes

AUDITS = {(pair.base, pair.changed): pair for pair in audits(config)}
AUDITED = list(dict.fromkeys(model for pair in AUDITS for model in pair))
# The answers of a run's order, by model and benchmark; the others are kept beside them.
FIRST_ANSWERS = {
    model: {
        benchmark: f"results/audit_answers/{model}/{benchmark}/first/generations.parquet"
        for benchmark in config["run"]["benchmarks"]
    }
    for model in AUDITED
}


rule draw_audit:
    input:
        lambda w: prompts(w.benchmark, files.tokenizer(w.model))["instances"],
    output:
        "results/audit_answers/{model}/{benchmark}/{turn}/prompts.parquet",
    log:
        "logs/draw_audit/{model}/{benchmark}/{turn}.log",
    benchmark:
        "benchmarks/draw_audit/{model}/{benchmark}/{turn}.tsv"
    conda:
        "../../envs/corpora.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=30,
    params:
        # The questions, of which the first are asked again.
        limits=lambda w: [
            config["audit"][key]
            for key in ("questions", "again")[: 1 + (w.turn == "again")]
        ],
        seed=config["audit"]["seed"],
        lengths=lambda w: lengths_of(config, w.model, w.benchmark),
        only=lambda w: only_of(config, w.model, w.benchmark),
        code=code_digest("draw_audit.py"),
    message:
        "Drawing questions of {wildcards.benchmark} for the audits of {wildcards.model}"
    script:
        "../scripts/draw_audit.py"


rule count_audit:
    input:
        lambda w: prompts(w.benchmark, files.tokenizer(w.model))["instances"],
    output:
        "results/audit_answers/{model}/{benchmark}/cells.json",
    log:
        "logs/count_audit/{model}/{benchmark}.log",
    benchmark:
        "benchmarks/count_audit/{model}/{benchmark}.tsv"
    conda:
        "../../envs/corpora.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=30,
    params:
        factors=lambda w: [
            name
            for name in files.benchmark(w.benchmark).asked
            if config["audit"]["by"] is None or name in config["audit"]["by"]
        ],
        lengths=lambda w: lengths_of(config, w.model, w.benchmark),
        only=lambda w: only_of(config, w.model, w.benchmark),
        code=code_digest("count_audit.py"),
    message:
        "Counting the cells of {wildcards.benchmark} for the audits of {wildcards.model}"
    script:
        "../scripts/count_audit.py"


use rule generate_answers as audit_answers with:
    input:
        unpack(
            lambda w: {
                **prompts(w.benchmark, files.tokenizer(w.model)),
                "instances": [
                    f"results/audit_answers/{w.model}/{w.benchmark}/{w.turn}/prompts.parquet"
                ],
            }
        ),
        # The user's file.
        chat_template=lambda w: config["models"][w.model]["chat_template"] or [],
    output:
        "results/audit_answers/{model}/{benchmark}/{turn}/generations.parquet",
    log:
        "logs/audit_answers/{model}/{benchmark}/{turn}.log",
        account="logs/audit_answers/{model}/{benchmark}/{turn}.json",
    benchmark:
        "benchmarks/audit_answers/{model}/{benchmark}/{turn}.tsv"
    wildcard_constraints:
        model=r"[A-Za-z0-9._-]+",
    conda:
        model_environment(AUDITED)
    params:
        model=lambda w: files.model_settings(w.model),
        # Those that were drawn.
        lengths=None,
        only=None,
        state=lambda w: request_state(
            f"logs/audit_answers/{w.model}/{w.benchmark}/{w.turn}.json"
        ),
        code=lambda w: code_digest(
            "generate_answers.py",
            f"needlework/models/backends/{config['models'][w.model]['backend']}.py",
        ),
    message:
        "{wildcards.model} answers {wildcards.benchmark} for an audit ({wildcards.turn})"


use rule translate_answers as translate_audit with:
    input:
        "results/audit_answers/{model}/{benchmark}/{turn}/generations.parquet",
    output:
        "results/audit_answers/{model}/{benchmark}/{turn}/translations.parquet",
    log:
        "logs/translate_audit/{model}/{benchmark}/{turn}.log",
    benchmark:
        "benchmarks/translate_audit/{model}/{benchmark}/{turn}.tsv"


use rule score_answers as score_audit with:
    input:
        unpack(lambda w: files.scoring_files(w.benchmark)),
        unpack(
            lambda w: {
                name: expand("results/corpora/{table}.parquet", table=tables)
                for name, tables in files.scoring_tables(w.benchmark).items()
            }
        ),
        instances=["results/audit_answers/{model}/{benchmark}/{turn}/prompts.parquet"],
        generations="results/audit_answers/{model}/{benchmark}/{turn}/generations.parquet",
        translations=lambda w: expand(
            "results/audit_answers/{model}/{benchmark}/{turn}/translations.parquet",
            model=w.model,
            benchmark=w.benchmark if files.benchmark(w.benchmark).translated else [],
            turn=w.turn,
        ),
        similarity=[],
    output:
        "results/audit_answers/{model}/{benchmark}/{turn}/scores.parquet",
    log:
        "logs/score_audit/{model}/{benchmark}/{turn}.log",
    benchmark:
        "benchmarks/score_audit/{model}/{benchmark}/{turn}.tsv"


rule tabulate_audit:
    input:
        lambda w: [
            path
            for own in audit_files(AUDITS[w.base, w.changed]).values()
            for paths in own.values()
            for path in ([paths] if isinstance(paths, str) else paths)
        ],
    output:
        csv="results/audits/{base}/{changed}/audit.csv",
        summary="results/audits/{base}/{changed}/audit.md",
        svg=report(
            "results/audits/{base}/{changed}/audit.svg",
            caption="../report/audit.rst",
            category="Audits",
            labels={"result": "{base} and {changed}"},
        ),
        pictures=[
            "results/audits/{base}/{changed}/audit.pdf",
            "results/audits/{base}/{changed}/audit.png",
        ],
    log:
        "logs/tabulate_audit/{base}/{changed}.log",
    benchmark:
        "benchmarks/tabulate_audit/{base}/{changed}.tsv"
    conda:
        "../../envs/figures.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=30,
    params:
        files=lambda w: audit_files(AUDITS[w.base, w.changed]),
        factors=lambda w: {
            name: files.benchmark(name).asked for name in config["run"]["benchmarks"]
        },
        metrics=lambda w: {
            name: files.settings(name).get("metric")
            for name in config["run"]["benchmarks"]
        },
        audit=config["audit"],
        changes=lambda w: changes(config, w.base, w.changed),
        code=code_digest("tabulate_audit.py"),
    message:
        "Comparing {wildcards.changed} with {wildcards.base}"
    script:
        "../scripts/tabulate_audit.py"


rule audit_gate:
    input:
        "results/audits/{base}/{changed}/audit.csv",
    output:
        touch("results/audits/{base}/{changed}/passed"),
    log:
        "logs/audit_gate/{base}/{changed}.log",
    benchmark:
        "benchmarks/audit_gate/{base}/{changed}.tsv"
    localrule: True
    conda:
        "../../envs/corpora.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        worse_than=lambda w: AUDITS[w.base, w.changed].worse_than,
        code=code_digest("gate_audit.py"),
    message:
        "Is {wildcards.changed} worse than {wildcards.base}?"
    script:
        "../scripts/gate_audit.py"


use rule provenance as audit_provenance with:
    input:
        results=[
            f"results/audits/{base}/{changed}/audit.csv" for base, changed in AUDITS
        ],
        scores=expand(
            "results/audit_answers/{model}/{benchmark}/{turn}/scores.parquet",
            model=AUDITED,
            benchmark=config["run"]["benchmarks"],
            turn=["first", "again"],
        ),
        generations=[path for own in FIRST_ANSWERS.values() for path in own.values()],
        translations=expand(
            "results/audit_answers/{model}/{benchmark}/again/generations.parquet",
            model=AUDITED,
            benchmark=config["run"]["benchmarks"],
        ),
        registry=resource("sources.yaml"),
    output:
        "results/audits/provenance.json",
    log:
        "logs/audit_provenance.log",
    benchmark:
        "benchmarks/audit_provenance.tsv"
    params:
        configuration=effective_config(config),
        generations=FIRST_ANSWERS,
        code=code_digest("write_provenance.py"),
    message:
        "Writing the provenance of the audits"


rule audit:
    input:
        lambda w: [
            f"results/audits/{base}/{changed}/audit.csv" for base, changed in AUDITS
        ]
        or refuse(
            "an audit needs a pair of models: name it in `run.audits`, as in [{base: a, changed: b}]."
        ),
        [
            f"results/audits/{pair.base}/{pair.changed}/passed"
            for pair in AUDITS.values()
            if pair.worse_than is not None
        ],
        "results/audits/provenance.json",
    localrule: True
