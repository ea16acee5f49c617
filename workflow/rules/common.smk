# Shared by all rules: the validated configuration, the digest of a rule's code, and the paths of files.

import gc
import re
import shutil
from pathlib import Path

from snakemake.common.configfile import load_configfile
from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake.scheduling.job_scheduler import JobScheduler
from snakemake.settings.enums import Quietness
from snakemake.settings.types import DeploymentMethod

from needlework.codedigest import code_digest, remember
from needlework.planning.config import validated
from needlework.planning.notices import (
    decided,
    inherited,
    notices,
    replaced_choices,
    unknown_target,
)
from needlework.data.corpora.registry import LANGUAGE
from needlework.errors import UserError
from needlework.given import given
from needlework.installed import IN_WHEEL, make_link, weights_command
from needlework.jobs.guard import announce
from needlework.jobs.short_log import shorten
from needlework.jobs.stop import stop_at_signals
from needlework.benchmarks.parts import part_file
from needlework.jobs.job import NEW_OBJECTS
from needlework.planning.checkups import check_doctor, check_shared
from needlework.planning.config_files import check_folder
from needlework.planning.given_files import located, read_nodes
from needlework.benchmarks.benchmark import load_benchmark
from needlework.planning.job_resources import job_gpus, job_threads
from needlework.planning.inputs.own_data import own_data_instances
from needlework.planning.layout import paths, resource, result_file
from needlework.planning.published_names import check_published
from needlework.planning.rule_inputs import RuleInputs
from needlework.planning.preflight.files import check_model_files, without_records
from needlework.planning.layers import command_line_values, layered
from needlework.planning.preflight.secrets import hide_logins
from needlework.atomic import atomic_write


def stop(error):
    """End with sentences that name the user's own file and line, not those of the workflow."""
    files, values = (
        workflow.config_settings.configfiles,
        workflow.config_settings.config,
    )
    several = str(error).splitlines()
    errors = map(UserError, several) if len(several) > 1 else [error]
    sys.exit("\n".join(f"Error: {located(each, files, values)}" for each in errors))


try:
    check_folder(Path.cwd(), Path(workflow.current_basedir))
    for file in workflow.configfiles if workflow.is_main_process else []:
        read_nodes(file)
    # In a module, `config:` replaces `configfile:` and the command line.
    if workflow.modifier.skip_configfile:
        written = [config]
    else:
        make_link()
        written = [
            *map(load_configfile, workflow.config_settings.configfiles),
            command_line_values(workflow.config_settings.config_args or []),
        ]
    config = layered(load_configfile(here / "config.yaml"), written)
    GIVEN = config
    config = validated(config)
    UNPUBLISHED = []
    if workflow.is_main_process:
        checked = given(config)
        UNPUBLISHED = check_published(checked)
        check_model_files(checked)
        check_doctor(checked)
        check_shared(checked)
        del checked
    hide_logins(config)
    files = RuleInputs(config)
    LEFT_OUT = [n for n in GIVEN["run"]["models"] if n not in config["run"]["models"]]
except UserError as error:
    stop(error)

# What planning makes stays to its end: looking for garbage would be a tenth of it.
gc.set_threshold(NEW_OBJECTS)

if workflow.is_main_process:
    if sentence := without_records():
        logger.warning(sentence)
    for sentence in replaced_choices(workflow.config_settings.configfiles):
        logger.warning(sentence)
    told = [
        *decided(GIVEN, files.config),
        *inherited(written, files.config),
        *notices(files.config),
    ]
    for sentence in [*told, *UNPUBLISHED]:
        logger.warning(sentence)

if DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method:
    if not shutil.which("conda"):
        raise WorkflowError(
            "--use-conda needs the program conda, which is not on the PATH: install Miniforge, or run without "
            "--use-conda"
            + (
                ""
                if IN_WHEEL
                else ": `make setup` installs all but vLLM and inspect_ai, and `make setup-inspect` makes "
                ".venv-inspect with inspect_ai and Snakemake"
            )
            + "; vLLM needs conda, or a server (`backend: openai`)."
        )


# Neural embedders and translators need PyTorch; these do not.
LIGHT = {"ngram", "none", "google", "llm"}


def environment(kind):
    return "../../envs/scoring.yaml" if kind in LIGHT else "../../envs/neural.yaml"


def shared_or_each(own, wildcard):
    """An environment that all share, as --containerize needs it, or else a function of a wildcard."""
    if len(set(own.values())) == 1:
        return next(iter(own.values()))
    return lambda w: own[getattr(w, wildcard)]


def scoring_environment(translator="none"):
    """A metric that compares embeddings needs their model, the others do not."""
    own = {
        name: environment(files.scores.embedder(name) or translator)
        for name in files.benchmarks
    }
    return shared_or_each(own, "benchmark")


def search_environment(retrieval):
    """The environment in which passages are ranked."""
    gpu = files.retrieval.search_gpus(retrieval)
    return "../../envs/retrieval-gpu.yaml" if gpu else "../../envs/retrieval.yaml"


def model_environment(names):
    """The environment in which models answer, by their backends."""
    own = {
        name: {
            "vllm": "../../envs/vllm.yaml",
            "transformers": "../../envs/neural.yaml",
            "openvino": "../../envs/openvino.yaml",
            "inspect": "../../envs/inspect.yaml",
        }.get(files.config.models[name].backend, "../../envs/generation.yaml")
        for name in names
    }
    return shared_or_each(own or {"none": "../../envs/generation.yaml"}, "model")


def refuse(why):
    stop(UserError(why))


# For `--sdm apptainer`: the image of Containerfile, in the folder of the run (docs/deploying.md).
container: "needlework.sif"


if DeploymentMethod.APPTAINER in workflow.deployment_settings.deployment_method:
    if not Path("needlework.sif").exists():
        raise WorkflowError(
            "--sdm apptainer needs the image needlework.sif in the folder of the run: docs/deploying.md says how "
            "to build it."
        )


wildcard_constraints:
    source=r"[a-z0-9-]+",
    # The ending distinguishes a source's file from the record beside it (`<file>.json`).
    file=r".+\.(zip|tsv|json|jsonl|gz|csv|txt)",
    corpus=r"[a-z0-9_]+",
    lang=LANGUAGE,
    part=LANGUAGE + r"(\.\d+-of-\d+)?",
    embedder=r"[A-Za-z0-9._-]+",
    tokenizer=r"[A-Za-z0-9._-]+",
    model=r"[A-Za-z0-9._-]+",
    benchmark=r"[a-z0-9_]+",
    slice=r"[a-z0-9]+(-[a-z0-9]+)*",
    retrieval=r"semantic|random",
    shard=r"\d+-of-\d+",
    turn=r"first|again",
    base=r"[A-Za-z0-9._-]+",
    changed=r"[A-Za-z0-9._-]+",


MODELS, BENCHMARKS = files.models, files.benchmarks
# What the profile says of --quiet.
BRIEF = {Quietness.REASON, Quietness.HOST}
# The first section of the report.
SUMMARY = "results/summary.html"

# Without this cache, parsing all code would be a fifth of a dry run.
remember(Path(".snakemake/code.json").absolute())

# A dry run ends with the counts of jobs. With another --quiet than the profile's, it lists each.
if workflow.output_settings.dryrun and workflow.output_settings.quiet == BRIEF:
    workflow.output_settings.quiet = {Quietness.RULES, Quietness.PROGRESS}

# A run says how far it is; with another --quiet than the profile's, Snakemake's own lines of each job.
if (
    workflow.is_main_process
    and workflow.output_settings.quiet == BRIEF
    and not workflow.output_settings.dryrun
):
    shorten(logger)

# A job ends with the Snakemake that started it, even one that is killed before the job is ready.
announce()
if workflow.is_main_process:
    stop_at_signals(JobScheduler, logger.warning)


def search(w):
    """How a benchmark finds its distractors in a language: in which corpora, and how."""
    return files.retrieval.search(w.benchmark, w.lang)


def caption_of(name, text):
    """A file from which the report reads a text."""
    path = Path(".snakemake/captions").absolute() / f"{name}.rst"
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        try:
            with atomic_write(path) as part:
                part.write_text(text, encoding="utf-8")
        except OSError as error:
            raise WorkflowError(
                f"{path} cannot be written ({error.strerror}): correct the permissions, or run in another "
                "folder with --directory."
            )
    return str(path)


def caption_file(benchmark, result):
    """A result's caption, which the report reads from a file."""
    return caption_of(
        f"{benchmark}_{result.name}", files.facts.caption(benchmark, result)
    )


def report_text(template):
    """The report's first text: the run's results, if they exist, and how to read them."""
    text, found = Path(template).read_text(encoding="utf-8"), Path(SUMMARY)
    if found.is_file():
        page = found.read_text(encoding="utf-8").replace("{%", "{ %")
        body = page.split("<body>\n")[-1].split("</body>")[0]
        shown = "\n".join(f"   {line}" for line in body.splitlines())
        text = f".. raw:: html\n\n   {{% raw %}}\n{shown}\n   {{% endraw %}}\n\n{text}"
    return caption_of("workflow", text)


def comparison(function, benchmark):
    """The runs or models that are compared; a wrong name is an error when the rule is requested."""
    try:
        return function(files.config, benchmark)
    except UserError as error:
        stop(error)


def reproduced(path, title):
    """A file of the reproduction, in the report."""
    return report(
        path,
        caption="../report/reproduction.rst",
        category="Reproduction",
        labels={"result": title},
    )


def numbers(benchmark, result):
    """The CSV file of a result; a table's is in the report."""
    path = result_file(benchmark, result, "csv")
    return in_report(benchmark, result, path) if result.kind == "tables" else path


def in_report(benchmark, result, path):
    """A table's numbers or a figure, in the report."""
    return report(
        path,
        caption=caption_file(benchmark, result),
        category=load_benchmark(benchmark).title,
        subcategory=result.kind.capitalize(),
        labels={"result": result.label},
    )
