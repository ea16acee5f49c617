# Does a setting change answers? `snakemake audit` compares the pairs of `run.audits` on the same prompts.

from needlework.planning.audit_pairs import changes
from needlework.planning.chosen import metric_of

AUDITS = {(pair.base, pair.changed): pair for pair in files.config.run.audits}
AUDITED = list(dict.fromkeys(model for pair in AUDITS for model in pair))
# The answers of the first asking, by model and benchmark.
FIRST_ANSWERS = {
    model: {
        benchmark: f"results/audit_answers/{model}/{benchmark}/first/generations.parquet"
        for benchmark in BENCHMARKS
    }
    for model in AUDITED
}


rule draw_audit:
    input:
        # results/instances/{benchmark}/{tokenizer}/{slice}.parquet
        lambda w: files.prompts.instances(w.model, w.benchmark),
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
        limits=lambda w: files.audits.questions(w.turn),
        seed=config["run"]["seed"],
        lengths=lambda w: files.answers.lengths(w.model, w.benchmark),
        only=lambda w: files.answers.only(w.model, w.benchmark),
        code=code_digest("draw_audit.py"),
    message:
        "Drawing questions of {wildcards.benchmark} for the audits of {wildcards.model}"
    script:
        "../scripts/draw_audit.py"


rule count_audit:
    input:
        # results/instances/{benchmark}/{tokenizer}/{slice}.parquet
        lambda w: files.prompts.instances(w.model, w.benchmark),
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
        factors=lambda w: files.audits.factors(w.benchmark),
        lengths=lambda w: files.answers.lengths(w.model, w.benchmark),
        only=lambda w: files.answers.only(w.model, w.benchmark),
        code=code_digest("count_audit.py"),
    message:
        "Counting the cells of {wildcards.benchmark} for the audits of {wildcards.model}"
    script:
        "../scripts/count_audit.py"


use rule generate_answers as audit_answers with:
    input:
        # results/audit_answers/{model}/{benchmark}/{turn}/prompts.parquet, and what these prompts quote
        unpack(lambda w: files.audits.audit_prompts(w.model, w.benchmark, w.turn)),
        # The user's file.
        chat_template=lambda w: files.answers.model_files(w.model)["chat_template"],
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
        # Those that were drawn.
        lengths=None,
        only=None,
        state=lambda w: files.answers.request_state(
            f"logs/audit_answers/{w.model}/{w.benchmark}/{w.turn}.json"
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
        unpack(lambda w: files.scores.scorer_files(w.benchmark)),
        instances=["results/audit_answers/{model}/{benchmark}/{turn}/prompts.parquet"],
        generations="results/audit_answers/{model}/{benchmark}/{turn}/generations.parquet",
        translations=lambda w: (
            [
                f"results/audit_answers/{w.model}/{w.benchmark}/{w.turn}/translations.parquet"
            ]
            if files.scores.translated(w.benchmark)
            else []
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
        lambda w: paths(files.audits.audit_files(AUDITS[w.base, w.changed])),
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
        files=lambda w: files.audits.audit_files(AUDITS[w.base, w.changed]),
        factors={name: load_benchmark(name).asked for name in BENCHMARKS},
        metrics={name: metric_of(files.config, name) for name in BENCHMARKS},
        audit=config["audit"] | {"seed": config["run"]["seed"]},
        changes=lambda w: changes(files.config, w.base, w.changed),
        worse_than=lambda w: AUDITS[w.base, w.changed].fail_if_worse_by,
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
        worse_than=lambda w: AUDITS[w.base, w.changed].fail_if_worse_by,
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
            benchmark=BENCHMARKS,
            turn=["first", "again"],
        ),
        generations=paths(FIRST_ANSWERS),
        translations=expand(
            "results/audit_answers/{model}/{benchmark}/again/generations.parquet",
            model=AUDITED,
            benchmark=BENCHMARKS,
        ),
        registry=resource("sources.yaml"),
    output:
        "results/audits/provenance.json",
    log:
        "logs/audit_provenance.log",
    benchmark:
        "benchmarks/audit_provenance.tsv"
    params:
        generations=FIRST_ANSWERS,
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
            if pair.fail_if_worse_by is not None
        ],
        "results/audits/provenance.json",
    localrule: True
