# What became of the requests: the run's last lines, the top of its page, and what is to be asked again.

import os

from snakemake.io import IOFile

from needlework.data.corpora.found import read_found
from needlework.models.accounts import last_lines, read_account
from needlework.results.own_data import read_report
from needlework.results.terminal import fill
from needlework.results.overview_page import write_unfinished

# What became of the requests of a job: beside its log, so that it is there if the job fails.
ACCOUNTS = "logs/generate_answers"


def request_state(account):
    """A parameter that changes if a job left requests unanswered, by its account; "" at first."""
    found = read_account(account)
    return found.state(config["generation"]["again"]) if found else ""


def accounts():
    """What became of the requests of this run's jobs, as far as they have ended."""
    shards = {
        model: (
            [""]
            if entry["shards"] == 1
            else [f".{shard}" for shard in files.answer_shards(model)]
        )
        for model, entry in config["models"].items()
    }
    found = [
        read_account(f"{ACCOUNTS}/{model}/{benchmark}{shard}.json")
        for model in config["run"]["models"]
        for benchmark in config["run"]["benchmarks"]
        for shard in shards[model]
    ]
    found += [read_account(JUDGE_ACCOUNT)] if config["judge"] else []
    return [account for account in found if account]


def say_own_data():
    """Print what was left out of the user's own data, and what it is not enough for."""
    read = [Path(f"logs/read_corpus/{table}.json") for table in OWN_TABLES]
    found = [read_found(path) for path in read]
    said = [one.said() for one in found if one and one.lost]
    times = [path.stat().st_mtime for path in read if path.is_file()]
    # An older report is of other data.
    if (
        times
        and Path(OWN_DATA).is_file()
        and Path(OWN_DATA).stat().st_mtime >= max(times)
    ):
        said += [sentence for sentence, enough in read_report(OWN_DATA) if not enough]
    for sentence in dict.fromkeys(said):
        logger.warning(sentence)


def say_accounts():
    """Print what became of the requests of this run's models."""
    first, *others = last_lines(accounts()) or [""]
    if first:
        logger.info(first)
    for line in others:
        logger.warning(line)


def say_results():
    """Print what models are compared by, a line for each model, and where the results are."""
    asked = {job.rule.name for job in workflow.dag.jobs}
    for name in config["run"]["benchmarks"]:
        if f"{name}_comparisons" in asked:
            file = Path(f"results/comparisons/{name}.txt")
            first = file.read_text(encoding="utf-8").partition("\n")[0]
            logger.info(fill(f"{first} More: {file}"))
    if "overview" in asked:
        for line in Path(LINES).read_text(encoding="utf-8").splitlines():
            logger.info(line)
        logger.info("Open results/index.html to read the results.")


def write_unfinished_page():
    """Write the page of what there is after a job of generation failed."""
    page = "results/index.html"
    try:
        own_data = read_report(OWN_DATA) if OWN_TABLES else []
        write_unfinished(
            SHOWN, config["run"]["models"], accounts(), OVERVIEW, page, own_data, RAN
        )
        # Snakemake's record, if there is one, is of a whole page: this one is always to be made again.
        workflow.persistence.cleanup_metadata(IOFile(page))
        os.utime(page, (0, 0))
        logger.warning(f"{page} shows what there is.")
    except Exception as error:
        logger.warning(
            f"{page} cannot be written ({error}): the lines above are the account."
        )
