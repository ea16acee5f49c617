# What a run checks before its first job, and what it says at its end.

import functools
import os

from snakemake.io import IOFile

from needlework.planning.preflight.checks import check
from needlework.planning.preflight.files import check_times
from needlework.planning.preflight.gpus import check_gpus
from needlework.planning.preflight.keys import judge_warnings
from needlework.planning.preflight.packages import missing_packages
from needlework.planning.preflight.secrets import check_verbose
from needlework.planning.preflight.used import used_by
from needlework.planning.run_end import (
    accounts,
    begin,
    own_data_warnings,
    request_lines,
    result_lines,
    write_unfinished_page,
)


def check_run():
    """Say what the jobs of this run lack; end it if they cannot do without, by `-n` too."""
    jobs = [(job.rule.name, job.wildcards) for job in workflow.dag.needrun_jobs()]
    used = used_by(files.config, jobs)
    # In a dry run on a cluster, only this tells of the executor that the run would have.
    local = workflow.local_exec and not (
        workflow.dryrun and workflow.execution_settings.use_threads
    )
    for name in LEFT_OUT:
        logger.warning(
            f"{name} is left out: its weights are not installed (`{weights_command()}` installs them)."
        )
    check_times(file for job in workflow.dag.needrun_jobs() for file in job.input)
    warnings = check(files.config, used, local=local, planning=workflow.dryrun)
    warnings += judge_warnings(files.config, used.judges, local, workflow.dryrun)
    if not workflow.dryrun:
        # An undeclared resource is unlimited; a declared one would silently cut what a job asks for.
        declared = workflow.global_resources.get("gpu")
        check_gpus(files.config, used.models | used.judges, declared and declared.value)
    if not workflow.deployment_settings.deployment_method:
        missing, perhaps = missing_packages(files.config, used)
        if missing and local:
            raise UserError("\n".join(missing))
        warnings += [f"Warning: {sentence}" for sentence in missing + perhaps]
    for sentence in warnings:
        logger.warning(sentence)
    check_verbose(
        files.config, workflow.executor_plugin.name, workflow.output_settings.verbose
    )
    if not jobs and not workflow.dryrun:
        # Snakemake calls no hook where nothing is to be done.
        begin(files)
        say_requests(rules_of(workflow.dag.jobs))


def build_graph_and_check(build):
    """Build the graph of jobs, and see that nothing is missing that they need.

    Snakemake has no hook here; `onstart` is not called by a dry run.
    """
    build()
    # `--summary` and the like have no executor: they build a graph too, and run nothing.
    if workflow.executor_plugin is None or workflow.touch:
        return
    # Jobs behind those of `--until` are no part of the run: Snakemake takes them out next.
    workflow.dag.cleanup()
    try:
        check_run()
    except UserError as error:
        if workflow.dryrun and len(workflow.dag):
            logger.info(workflow.dag.stats()[0])
        stop(error)


if workflow.is_main_process and workflow.modifier.is_main_snakefile():
    workflow._build_dag = functools.partial(build_graph_and_check, workflow._build_dag)


def rules_of(jobs):
    """The names of jobs' rules, without what a module puts before or behind them."""
    before, _, after = workflow.modifier.modify_rulename("*").partition("*")
    return {job.rule.name.removeprefix(before).removesuffix(after) for job in jobs}


def end_run(success):
    """Print the last lines: the outcomes of requests, the answer to the command or what is left, and where."""
    asked = rules_of(workflow.dag.jobs)
    say_requests(asked)
    if success:
        for line in result_lines(files, asked):
            logger.info(line)
        return
    if request_lines(files, asked)[0] and any(a.failed for a in accounts(files)):
        show_unfinished()
    logger.warning(
        "The run is not finished. Its answers and files are kept: the same command goes on."
    )


def say_requests(asked):
    """Print what became of the requests of these rules, and what the user's own data lack."""
    first, others = request_lines(files, asked)
    # The job that looks at the data says it itself.
    if "own_data" not in rules_of(workflow.dag.finished_jobs):
        for line in own_data_warnings(files):
            logger.warning(line)
    if first:
        logger.info(first)
    for line in others:
        logger.warning(line)


def show_unfinished():
    """Write results/index.html of what there is after a job of answers failed."""
    try:
        page = write_unfinished_page(files, RAN, OVERVIEW)
        # Snakemake's record, if there is one, is of a whole page: this one is always to be made again.
        workflow.persistence.cleanup_metadata(IOFile(page))
        os.utime(page, (0, 0))
        logger.warning(f"{page} shows what there is.")
    except Exception as error:
        logger.warning(
            f"results/index.html cannot be written ({error}): the lines above are the account."
        )


onstart:
    # A limit of jobs a second costs Snakemake a timer for every job that began or ended: a run's longer end
    # would be spent on looking for jobs. Only a cluster needs the limit.
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None
    begin(files)


def both(ours, theirs):
    """A hook that does what is ours, and then what is the user's."""
    return lambda log: (ours(), theirs(log))


if workflow.is_main_process and not workflow.modifier.is_main_snakefile():
    # Snakemake calls no hooks of a module; its files are elsewhere with a prefix.
    if workflow.modifier.path_modifier.prefix is None:
        workflow._onstart = both(lambda: begin(files), workflow._onstart)
        workflow._onsuccess = both(lambda: end_run(True), workflow._onsuccess)
        workflow._onerror = both(lambda: end_run(False), workflow._onerror)
