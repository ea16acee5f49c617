"""A judge: a model that is asked whether answers are right that the second scorer leaves undecided.

It sees the question, the references and the answer, never the haystack. These texts are cut to a limit and
quoted line by line, so that they cannot pass for a part of the prompt. The judge is also asked about answers
of known verdict (`known_cases`).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from needlework.models.control_tokens import CONTROL_TEXT
from needlework.prompts.instances import Instances, Spans
from needlework.prompts.spans import literal, span_text
from needlework.prompts.tokenizers import Tokenizer
from needlework.records import read_table
from needlework.scoring.metric import CAREFUL, UNDECIDED

# Stands for the benchmark in the judge's prompts, answers and accounts.
JUDGE = "judge"
# The kind of a task that names none; each kind has a prompt, resources/judge/<kind>.txt.
ANSWER = "answer"
RIGHT, WRONG = "right", "wrong"
# What a prompt can be told apart by. Of a known answer, `model` is empty and `judged` its place in the file.
FACTORS = {
    "model": "string",
    "judged_benchmark": "string",
    "judged": "string",
    "judged_sample": "int32",
    "length": "int32",
}

# The share of answers that are expected to be undecided: of ordinary sentences it is 3 to 6%.
EXPECTED = 0.05
_VERDICTS = {"CORRECT": RIGHT, "INCORRECT": WRONG}
# What may stand around the word: white space, marks of Markdown, quotes, a full stop.
_AROUND = " \t*_`'\"."
# The most characters of a question, an answer, a reference; and the most references.
_QUESTION, _ANSWER, _REFERENCE, _REFERENCES = 4000, 4000, 500, 50
# The tokens of a reply: it is one word.
_REPLY = 16
_SEPARATOR = "|"


class Case(NamedTuple):
    """An answer for the judge."""

    benchmark: str
    model: str
    instance_id: str
    sample: int
    # The judge's prompt.
    kind: str
    question: str
    references: tuple[str, ...]
    answer: str
    lang: str = ""
    # The verdict, if it is known.
    right: bool | None = None


def known_cases(path: str | Path) -> list[Case]:
    """The answers of known verdict in a CSV file.

    Columns: benchmark, kind, lang, question, references (separated by `|`), answer, right (yes or no).
    """
    with Path(path).open(encoding="utf-8", newline="") as lines:
        return [
            Case(
                *(row["benchmark"], "", str(number), 0, row["kind"], row["question"]),
                tuple(row["references"].split(_SEPARATOR)),
                row["answer"],
                row["lang"],
                row["right"] == "yes",
            )
            for number, row in enumerate(csv.DictReader(lines))
        ]


def undecided(
    benchmark: str,
    model: str,
    scores: str | Path,
    generations: str | Path,
    instances: Iterable[str | Path],
    documents: Callable[[], Mapping[str, str]],
    kinds: Mapping[str, str],
) -> Iterator[Case]:
    """A model's answers that the second scorer leaves undecided, from files of the workflow.

    `documents` are the documents that prompts quote; they are read if a question needs them. `kinds` has the
    kinds of tasks whose kind is not "answer". Raises UserError as `read_table` does.
    """
    read = read_table(scores, ["instance_id", "sample", "metric", "verdict"])
    of_second = pc.equal(read["metric"], CAREFUL)
    read = read.filter(pc.and_(of_second, pc.starts_with(read["verdict"], UNDECIDED)))
    if not read.num_rows:
        return
    wanted = set(zip(read["instance_id"].to_pylist(), read["sample"].to_pylist(), strict=True))
    ids = pa.array(sorted({name for name, _ in wanted}), pa.string())
    rows = {}
    for file in instances:
        table = read_table(file, ["instance_id", "task", "references", "prompt"])
        for row in table.filter(pc.is_in(table["instance_id"], value_set=ids)).to_pylist():
            rows[row["instance_id"]] = row
    answers = read_table(generations, ["instance_id", "sample", "text"])
    answers = answers.filter(pc.is_in(answers["instance_id"], value_set=ids))
    for answer in answers.sort_by(
        [("instance_id", "ascending"), ("sample", "ascending")]
    ).to_pylist():
        if (answer["instance_id"], answer["sample"]) not in wanted:
            continue
        row = rows[answer["instance_id"]]
        asked = [
            span_text(span, documents() if span["source"] else {})
            for span in row["prompt"]
            if span["role"] == "question"
        ]
        yield Case(
            *(benchmark, model, answer["instance_id"], answer["sample"]),
            kinds.get(row["task"], ANSWER),
            "\n".join(asked),
            tuple(row["references"]),
            answer["text"],
        )


def prompts(cases: Iterable[Case], templates: Mapping[str, str], tokenizer: Tokenizer) -> pa.Table:
    """The judge's prompts as instances (`records.instances_schema`), one a case; `templates` are by kind."""
    spans = Spans()
    made = Instances(JUDGE, FACTORS, tuple(FACTORS), tokenizer, spans)
    for case in cases:
        text = prompt(case, templates[case.kind])
        factors = {
            "model": case.model,
            "judged_benchmark": case.benchmark,
            "judged": case.instance_id,
            "judged_sample": case.sample,
            # There is no haystack.
            "length": 0,
        }
        made.add(
            [spans.number(literal("question", text))],
            text,
            task=case.kind,
            n_tokens=tokenizer.count(text),
            example_id=case.instance_id,
            references=list(case.references),
            metric=JUDGE,
            max_new_tokens=_REPLY,
            **factors,
        )
    return made.table()


def prompt(case: Case, template: str) -> str:
    """A template in which the case's texts, bounded and quoted, replace their names."""
    references = list(dict.fromkeys(case.references))[:_REFERENCES]
    texts = {
        "question": _quoted(_bounded(case.question.strip(), _QUESTION)),
        "references": "\n".join(_quoted(_bounded(text, _REFERENCE)) for text in references),
        "answer": _quoted(_bounded(case.answer.strip(), _ANSWER)),
    }
    return re.sub(r"\{(question|references|answer)\}", lambda match: texts[match[1]], template)


def _bounded(text: str, most: int) -> str:
    """A text, or the beginning and the end of a longer one."""
    half = most // 2
    return text if len(text) <= most else f"{text[:half]} [...] {text[-half:]}"


def _quoted(text: str) -> str:
    """A text each of whose lines, however it ends, begins with "> "; no control token is whole in it."""
    split = CONTROL_TEXT.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)
    return "\n".join(f"> {line}" for line in split.splitlines() or [""])


def verdict(reply: str) -> str:
    """RIGHT, WRONG or UNDECIDED: the last line of a judge's reply, if it is one of the three words alone."""
    *_, last = ["", *reply.strip().splitlines()]
    return _VERDICTS.get(last.strip(_AROUND).upper(), UNDECIDED)


def read_templates(files: Sequence[str | Path]) -> dict[str, str]:
    """The templates by kind, which is the name of the file."""
    return {Path(file).stem: Path(file).read_text(encoding="utf-8") for file in files}
