"""What Snakemake's log shows on the terminal of a run."""

from __future__ import annotations

import logging

from snakemake_interface_logger_plugins.common import LogEvent

from needlework.jobs.short_log import ShortLog


def record(text: str = "", level: int = logging.INFO, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("snakemake", level, "", 0, text, None, None)
    made.__dict__.update(extra)
    return made


def job(number: int, says: str) -> logging.LogRecord:
    return record(event=LogEvent.JOB_INFO, jobid=number, rule_msg=says)


def test_lines_of_progress_are_some_seconds_apart() -> None:
    said: list[str] = []
    now = [0.0]
    shown = ShortLog(said.append, lambda: now[0])
    assert not shown.filter(record(event=LogEvent.RUN_INFO, stats={"total": 1200}))
    assert not shown.filter(job(1, "a answers b")) and not shown.filter(job(2, "c answers d"))
    for done in range(1, 1200):
        now[0] += 1.0
        assert not shown.filter(record(event=LogEvent.PROGRESS, done=done, total=1200))
    assert said[0] == "1,200 jobs."
    assert said[1] == "0:10  10 of 1,200 jobs are done: a answers b and 1 more"
    assert 40 < len(said) < 100, "less often in a longer run"
    shown.filter(record(event=LogEvent.JOB_FINISHED, job_id=1))
    now[0] += 100
    shown.filter(record(event=LogEvent.PROGRESS, done=3, total=1200))
    assert said[-1].endswith("3 of 1,200 jobs are done: c answers d")


def test_warnings_errors_and_unknown_lines_stay() -> None:
    shown = ShortLog(print)
    assert not shown.filter(record("Select jobs to execute..."))
    assert not shown.filter(record("Complete log(s): x"))
    assert shown.filter(record("a line of the workflow"))
    assert shown.filter(record("Building DAG of jobs is slow", logging.WARNING))
    # And not twice in a row.
    warned = [shown.filter(record(text, logging.WARNING)) for text in "aaba"]
    assert warned == [True, False, True, True]
    assert shown.filter(record("it failed", logging.ERROR))
    assert shown.filter(record("Complete log(s): x")), "after an error"


def failed(**extra: object) -> logging.LogRecord:
    own = {"rule_name": "build", "log": ["logs/build.log (check log file(s) for error details)"]}
    return record("Error in rule build", logging.ERROR, event=LogEvent.JOB_ERROR, **own, **extra)


def test_a_failed_job_is_one_line_without_its_inputs() -> None:
    said: list[str] = []
    shown = ShortLog(said.append)
    status = "RuleException:\nCalledProcessError in file x:\n returned non-zero exit status {}."
    for code in (1, 137, 255):
        assert not shown.filter(record(status.format(code), logging.ERROR))
        assert not shown.filter(failed(input=["a", "b"]))
    assert not shown.filter(failed(rule_msg="SLURM-job '7' failed, status: 'OUT_OF_MEMORY'"))
    assert said == [
        "build failed. Its log: logs/build.log",
        "build failed: killed by SIGKILL, as when the memory is full. Its log: logs/build.log",
        "build failed. Its log: logs/build.log",
        "build failed: SLURM-job '7' failed, status: 'OUT_OF_MEMORY'. Its log: logs/build.log",
    ]
    for text in ("Exiting because a job execution failed.", "At least one job did not complete"):
        assert not shown.filter(record(text, logging.ERROR))


def test_a_full_disk_is_told_once_as_that() -> None:
    said: list[str] = []
    shown = ShortLog(said.append)
    for text in ("OSError in x:\n[Errno 28] {}", "Error recording metadata ([Errno 28] {})."):
        assert not shown.filter(record(text.format("No space left on device"), logging.ERROR))
    (line,) = said
    assert "is full: free some space, and run the same command again" in line
