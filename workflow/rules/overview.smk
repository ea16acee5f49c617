# What the run found, on one page: results/index.html.

from needlework.layout import ROOT, resource


def shown_results(benchmark, kind, ending):
    """The tables or figures of a benchmark by name: file, title and caption."""
    found = {}
    for name, result in files.results(benchmark, kind).items():
        caption = ROOT / f"workflow/report/{benchmark}_{name}.rst"
        found[name] = {
            "file": f"results/{kind}/{benchmark}/{name}.{ending}",
            "title": result.title,
            "caption": str(caption) if caption.is_file() else None,
        }
    return found


SHOWN = {
    name: {
        "title": files.plan(name).TITLE,
        "scores": files.scores(name),
        "tables": shown_results(name, "tables", "csv"),
        "figures": shown_results(name, "figures", "svg"),
    }
    for name in config["run"]["benchmarks"]
}


rule overview:
    input:
        scores=[path for own in SHOWN.values() for path in own["scores"]],
        results=[
            entry["file"]
            for own in SHOWN.values()
            for kind in ("tables", "figures")
            for entry in own[kind].values()
        ],
        template=resource("overview/index.html.j2"),
    output:
        "results/index.html",
    log:
        "logs/overview.log",
    benchmark:
        "benchmarks/overview.tsv"
    conda:
        "../../envs/overview.yaml"
    resources:
        mem_mb=lambda w, attempt: 4000 * attempt,
        runtime=30,
    params:
        benchmarks=SHOWN,
        models=config["run"]["models"],
        code=code_digest("write_overview.py"),
    message:
        "Writing the overview"
    script:
        "../scripts/write_overview.py"
