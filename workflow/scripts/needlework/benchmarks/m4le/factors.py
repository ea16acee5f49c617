"""The factors of M4LE's prompts, and their names in the paper."""

from __future__ import annotations

from needlework.benchmarks.m4le.data.tasks import ABILITIES, CONSTRUCTED, PAPER_BUCKETS, TASKS
from needlework.factor import Factor, in_1000

# Tables 4 to 6 of the paper: ranges of buckets, by the table that is of each.
RANGES = {
    "table4": ("0K to 1K", PAPER_BUCKETS[:1]),
    "table5": ("1K to 4K", PAPER_BUCKETS[1:3]),
    "table6": ("4K to 8K", PAPER_BUCKETS[3:]),
}
TASK = Factor("task", label="Task", order=tuple(CONSTRUCTED))
ABILITY = Factor(
    "ability",
    label="Ability",
    order=ABILITIES,
    words={name: name.replace("_", " ").capitalize() for name in ABILITIES},
)
TASK_TYPE = Factor("task_type", label="Task type")
LANG = Factor(
    "lang",
    label="Language",
    order=("en", "zh", "en,zh"),
    words={"en": "English", "zh": "Chinese", "en,zh": "Both"},
)
DOMAIN = Factor("domain", label="Domain")
# The bucket, in the task's own unit; 0 of rows that study places, and of questions without their texts.
LENGTH = Factor("length", "int32", label="Length (words; of Chinese, characters)", format=in_1000)
# The asked item's place from 0 to 1, null where it has none.
POSITION = Factor("position", "double", label="Place of the asked text", percent=100)
# How many items there are, 0 of a question that is asked without its texts.
CANDIDATES = Factor("candidates", "int32", label="Candidates")
# How long prompt and answer are, in the task's own unit.
UNITS = Factor("units", "int32", asked=False)
SOURCE = Factor("source")
FACTORS = (
    *(ABILITY, TASK_TYPE, LANG, DOMAIN),
    *(LENGTH, POSITION, CANDIDATES, UNITS, SOURCE),
)
# An instance's id is made of these columns. Never change them: each id would change.
NAMED_BY = (
    *("ability", "task_type", "lang"),
    *("domain", "length", "position"),
    *("candidates", "source"),
)
# Columns of scores and results.
METRIC = Factor("metric", label="Metric", order=("paper", "released", "careful"))
RANGE = Factor("range", label="Length", order=tuple(words for words, _ in RANGES.values()))
TEXTS = Factor("texts", order=("without", "with"))
GROUP = Factor(
    "group",
    order=("QA", "SUM", "RET"),
    words={"QA": "Question answering", "SUM": "Summarization", "RET": "Retrieval"},
)
PLACE = POSITION.renamed("place", words={0: "first", 0.5: "middle", 1: "last"})
# Arrow types by name.
COLUMNS = {factor.name: factor.type for factor in FACTORS}

# The tables of the paper's appendix that have a task's numbers, 7 to 45.
TABLES = {
    task.name: task.table for task in sorted(TASKS.values(), key=lambda task: int(task.table[5:]))
}
# The bucket whose scores normalise those of all.
SHORTEST = 1000
