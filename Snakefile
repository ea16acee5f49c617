# needlework: one workflow for published evaluations of multilingual long-context language models.
#
#   snakemake --cores all              the embedded sample, or the run of --configfile
#   snakemake --cores all mlneedle_table1      one table, with those that the same job makes
#   snakemake --cores all estimate     tokens, GPU hours and costs, before a run
#   snakemake --report report.html     after a run

import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

min_version("9.27")

if not hasattr(workflow.current_basedir, "__fspath__"):
    raise WorkflowError('A module from a repository names path="workflow/Snakefile".')

if sys.flags.optimize:
    sys.exit(
        "Error: Python drops captions (docstrings) and checks in its optimized mode: unset the environment "
        "variable PYTHONOPTIMIZE, and leave out -O."
    )

# A notebook's backend, which the variable names for `!snakemake`, is none that a job could import.
os.environ.update(MPLBACKEND="agg")

here = Path(workflow.current_basedir)
# Before the library of another clone, which may be installed in this environment.
sys.path.insert(0, str(here / "workflow/scripts"))


# The workflow's own file, also with --directory.
configfile: here / "config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/start_and_end.smk"
include: "workflow/rules/corpora.smk"
include: "workflow/rules/retrieval.smk"
include: "workflow/rules/instances.smk"
include: "workflow/rules/generation.smk"
include: "workflow/rules/scoring.smk"
include: "workflow/rules/results.smk"
include: "workflow/rules/published.smk"
include: "workflow/rules/judge.smk"
include: "workflow/rules/pages.smk"
include: "workflow/rules/doctor.smk"
include: "workflow/rules/sharing.smk"


report: report_text(here / "workflow/report/workflow.rst")


rule all:
    default_target: True
    input:
        RESULTS,
        JUDGED,
        "results/explorer",
        "results/index.html",
        "results/provenance.json",
    # Otherwise the run would end with the names of all files.
    message:
        "All results"


# A target that is neither a rule nor a path is misspelt.
rule unknown_target:
    input:
        lambda w: refuse(unknown_target(w.name, [rule.name for rule in workflow.rules])),
    output:
        "{name}",
    wildcard_constraints:
        name="[A-Za-z0-9_-]+",
    localrule: True


onsuccess:
    end_run(True)


onerror:
    end_run(False)
