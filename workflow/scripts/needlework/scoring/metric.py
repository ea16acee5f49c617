"""The record of a metric, which settings, planning, captions, preflight and the explorer read.

A benchmark declares its records as METRICS in its module `metrics`. Planning and jobs import this module, so
it imports no package. A record names its function, which is in the benchmark's module `scores`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

# The metric of the second scorer, in the scores of every benchmark.
CAREFUL = "careful"
# The verdict of an answer that it does not decide begins with this. The value is then that of the metric
# which rates the task by default, whatever the key `metric` names.
UNDECIDED = "undecided"


class Meaning(NamedTuple):
    """The meaning of a verdict: as a sentence, and in few words for a list or a filter."""

    sentence: str
    words: str


Meanings = Mapping[str, Meaning]


@dataclass(frozen=True)
class Metric:
    """A metric of a benchmark."""

    # As in the key `metric` and in the column `metric` of scores.
    name: str
    # The function of the benchmark's module `scores` that rates an answer by it; its arguments are the same
    # for all metrics of the benchmark.
    function: str
    # The meanings of its verdicts. A verdict is known by its part before the first colon; behind it stands
    # which reference, which text, how many.
    verdicts: Meanings
    # What captions say of it: in brackets behind its name or, of a metric of `tasks`, in place of its name.
    words: str = ""
    # Whether the key `metric` can name it.
    choice: bool = True
    # The tasks that it rates instead of the chosen metric; (): it rates all others.
    tasks: tuple[str, ...] = ()
    # Whether results have it only if the key `metric` names it: of others, it is in the scores alone.
    beside: bool = False
    # Whether it reads the whole text that the model wrote, thoughts included, as released programs do.
    raw: bool = False
    # Whether it reads an answer's English translation too.
    translated: bool = False
    # The model whose embeddings it compares, an entry as under `embedders`.
    embedder: Mapping[str, str] = field(default_factory=dict)
    # The packages that it imports beside those that all scoring jobs have.
    packages: tuple[str, ...] = ()
    # The files below resources/ that it reads, by the argument of `scores.score` that gets them.
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def told(self) -> str:
        """The metric's name in captions."""
        return f"{self.name} ({self.words})" if self.words else self.name


def by_name(*metrics: Metric) -> dict[str, Metric]:
    """Metrics by name; the default of the key `metric` is first.

    Raises ValueError if two have one name.
    """
    found = {metric.name: metric for metric in metrics}
    if len(found) < len(metrics):
        raise ValueError(f"two metrics have one name: {[metric.name for metric in metrics]}")
    return found


def choices(metrics: Mapping[str, Metric]) -> tuple[str, ...]:
    """The metrics that the key `metric` can name."""
    return tuple(name for name, metric in metrics.items() if metric.choice)


def rates(metrics: Mapping[str, Metric], chosen: str, task: str) -> Metric:
    """The metric that rates answers to a task: one of this task alone, or else the `chosen` one."""
    of_task = (metric for metric in metrics.values() if task in metric.tasks)
    return next(of_task, metrics[chosen])


def default(metrics: Mapping[str, Metric]) -> str:
    """The default of the key `metric`."""
    return next(iter(metrics))


def in_captions(metrics: Mapping[str, Metric], chosen: str, tasks: Collection[Any]) -> str:
    """A sentence for captions: the metrics that rate answers to `tasks`, if the key `metric` names `chosen`.

    If a metric that stands beside the others is chosen, it rates every task.
    """
    if metrics[chosen].beside:
        return metrics[chosen].told
    of_tasks = (m for m in metrics.values() if any(task in tasks for task in m.tasks))
    return ", and ".join([metrics[chosen].told, *(metric.words for metric in of_tasks)])


def meanings(metrics: Iterable[Metric]) -> dict[str, Meaning]:
    """The meanings of all verdicts in scores by `metrics`. ValueError if a verdict has two meanings."""
    found = dict(NOT_RATED)
    for metric in metrics:
        for verdict, meaning in metric.verdicts.items():
            if found.setdefault(verdict, meaning) != meaning:
                raise ValueError(f"the verdict {verdict!r} of {metric.name} has two meanings")
    return found


# The meanings of verdicts that several metrics give.

# Of requests without an answer, by every metric.
NOT_RATED: Meanings = {
    "skipped": Meaning(
        "The prompt does not fit into the model's context, so it was not sent.",
        "not sent: too long",
    ),
    "error": Meaning("The request failed.", "request failed"),
}
# Whether a reference stands in an answer.
FOUND: Meanings = {
    "match": Meaning("A reference stands in the answer.", "reference found"),
    "no_match": Meaning("No reference stands in the answer.", "reference not found"),
    "empty": Meaning("The answer is empty.", "empty answer"),
}
# Of answers without text.
SILENT: Meanings = {
    "no_answer": Meaning("The answer holds no text.", "no text"),
    "length": Meaning(
        "The limit on new tokens cut the answer before it said anything.", "cut before an answer"
    ),
}
CORRECT: Meanings = {"correct": Meaning("The answer is exactly what was asked for.", "correct")}
PARTIAL: Meanings = {
    "partial": Meaning(
        "The answer is right in part. After the colon: what it holds, and after '+' what else.",
        "right in part",
    )
}
SEVERAL: Meanings = {
    "several": Meaning(
        "The answer has what was asked for, and others beside it.", "others beside it"
    )
}
WRONG_NUMBER: Meanings = {
    "wrong_number": Meaning(
        "The answer gives another number than the one asked for.", "wrong number"
    ),
    "no_number": Meaning("The answer gives no number.", "no number"),
}
YES_OR_NO: Meanings = {
    "yes": Meaning("The answer says yes.", "says yes"),
    "no": Meaning("The answer says no.", "says no"),
}
RIGHT: Meanings = {"right": Meaning("The metric gives the answer all of its value.", "right")}
NO_NUMBER: Meanings = {
    "no number": Meaning(
        "The answer gives no number, and does not say that there is none.", "no number, no 'none'"
    )
}
# Of the second scorer, in every benchmark.
SECOND: Meanings = {
    **RIGHT,
    **YES_OR_NO,
    "undecided": Meaning(
        "The second scorer does not decide; after a colon, why. The default metric gives the value.",
        "not decided",
    ),
    "denied": Meaning("The answer denies a reference.", "reference denied"),
    "replaced": Meaning(
        "The answer names a reference, but concludes with something else.", "concludes otherwise"
    ),
    "refused": Meaning(
        "The answer names a reference, but says that it does not know.", "says it does not know"
    ),
    "other": Meaning(
        "The answer gives something else, or nothing that was asked for.", "something else"
    ),
    "incomplete": Meaning("The answer lacks some of what was asked for.", "incomplete"),
    "empty": FOUND["empty"],
}
