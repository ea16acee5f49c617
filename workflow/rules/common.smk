# What all rules share: the validated configuration, the digest of a rule's code, and where files lie.

import re
import shutil
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake.settings.types import DeploymentMethod

from needlework.codedigest import code_digest
from needlework.config import (
    lengths_of,
    replaced_choices,
    unknown_target,
    validated,
)
from needlework.corpora.languages import LANGUAGE
from needlework.errors import UserError
from needlework.guard import announce
from needlework.hooks import hook_file
from needlework.layout import Layout
from needlework.preflight import check, check_gpus, without_records
from needlework.results.describe import description
from needlework.selection import only_of
from needlework.verbose import check_verbose
from needlework.whole import whole

try:
    LEFT_OUT = [name for name in config["run"]["models"]]
    config = validated(config)
    LEFT_OUT = [name for name in LEFT_OUT if name not in config["run"]["models"]]
except UserError as error:
    raise WorkflowError(str(error))

if workflow.is_main_process:
    if sentence := without_records():
        logger.warning(sentence)
    for sentence in replaced_choices(workflow.config_settings.configfiles):
        logger.warning(sentence)

if DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method:
    if not shutil.which("conda"):
        raise WorkflowError(
            "--use-conda needs the program conda, which is not on the PATH: install Miniforge, or run without "
            "--use-conda in the environment that `make setup` builds."
        )


# A learned embedder or translator needs PyTorch; the others need next to nothing.
LIGHT = {"ngram", "none", "google", "llm"}


def environment(kind):
    return "../../envs/scoring.yaml" if kind in LIGHT else "../../envs/neural.yaml"


def scoring_environment(benchmark, translator="none"):
    """Only the released metric of meanings embeds what it compares."""
    chosen = files.scoring_settings(benchmark).get("metric")
    semantic = chosen == "released_semantic"
    return environment("sentence-transformers" if semantic else translator)


def refuse(why):
    raise WorkflowError(why)


wildcard_constraints:
    source=r"[a-z0-9-]+",
    # The ending tells a source's file from the record beside it (`<file>.json`).
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


files = Layout(config)

# A job ends with the Snakemake that started it, even one that is killed before the job is ready.
announce()


def caption_file(benchmark, result):
    """A result's caption, which the report reads from a file."""
    path = Path(".snakemake/captions").absolute() / f"{benchmark}_{result.name}.rst"
    if not path.is_file() or path.read_text(encoding="utf-8") != result.full_caption:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole(path) as part:
            part.write_text(result.full_caption, encoding="utf-8")
    return str(path)


def explorer_files(benchmark):
    """The files of a benchmark's prompts and answers, and its title."""
    return {
        "title": files.benchmark(benchmark).title,
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


def shown_results(benchmark, kind, ending):
    """The tables or figures of a benchmark by name: file, title and caption."""
    return {
        result.name: {
            "file": f"results/{kind}/{benchmark}/{result.name}.{ending}",
            "title": result.label,
            "caption": result.full_caption,
        }
        for result in files.results(benchmark)
        if result.kind == kind
    }


def comparison(function, benchmark):
    """What is compared; a wrong name is refused when the rule is asked for."""
    try:
        return function(config, benchmark)
    except UserError as error:
        raise WorkflowError(str(error))


# Not in a dry run: that needs no keys and no packages but Snakemake's.
onstart:
    for name in LEFT_OUT:
        logger.warning(
            f"{name} is left out: its weights are not installed (`make weights` installs them)."
        )
    jobs = [(job.rule.name, job.wildcards) for job in workflow.dag.needrun_jobs()]
    asked = {
        w.model
        for rule, w in jobs
        if rule in ("generate_answers", "generate_shard", "repeat_answers")
    }
    counting = {
        w.tokenizer
        for rule, w in jobs
        if rule in ("build_instances", "count_tokens", "count_books")
    }
    translating = any(rule.startswith("translate_") for rule, _ in jobs)
    # An undeclared resource is unlimited; a declared one would silently cut what a job asks for.
    declared = workflow.global_resources.get("gpu")
    try:
        local = workflow.local_exec
        for sentence in check(config, asked, counting, translating, local=local):
            logger.warning(sentence)
        check_gpus(config, asked, declared and declared.value)
        check_verbose(
            config, workflow.executor_plugin.name, workflow.output_settings.verbose
        )
    except UserError as error:
        raise WorkflowError(str(error))
