"""From the files of a benchmark to the explorer's shards: an index in columns, texts, and details.

The index has a row for each instance and one for each answer; the page filters and counts with it alone.
What one view shows of one instance (its spans, references and full answers) is in detail shards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from needlework.errors import UserError
from needlework.prompts.spans import Documents
from needlework.records import read_table
from needlework.results.explorer.answers import Answers, ModelAnswers
from needlework.results.explorer.documents import DocumentShards, Sharded, spans
from needlework.results.explorer.index import Index
from needlework.results.explorer.shards import json_bytes

Write = Callable[[str, bytes], None]


@dataclass(frozen=True)
class Prompts:
    """The files of the prompts that a benchmark has in one tokenizer."""

    instances: Sequence[str]
    corpora: Sequence[str]
    documents: Sequence[str]


@dataclass(frozen=True)
class Explored:
    """A benchmark: its title, its files and what the page opens on.

    asked: the columns that tell what was asked (`Benchmark.asked`). prompts: by tokenizer. answers: by
    model. designed: a factor and tasks (`Benchmark.designed`). controls: models that the first view
    leaves out.
    """

    title: str
    asked: Sequence[str]
    prompts: Mapping[str, Prompts]
    answers: Mapping[str, Answers]
    designed: tuple[str, Sequence[str]] = ("", ())
    controls: Sequence[str] = ()


def write_benchmark(
    name: str, own: Explored, documents: DocumentShards, write: Write
) -> dict[str, Any]:
    """Write a benchmark's shards with `write(name, payload)`; what the page must know of it.

    Raises UserError where an answer belongs to no instance.
    """
    read = {model: ModelAnswers(files) for model, files in own.answers.items()}
    details = Sharded(lambda n, values: write(f"{name}-details-{n}", json_bytes(values)))
    index = Index(own.asked)
    for tokenizer, files in own.prompts.items():
        texts = Documents.of(name, files.corpora, files.documents)
        # What some model of this tokenizer was asked; others share the files, but want other lengths.
        models = [
            (place, read[model])
            for place, (model, answers) in enumerate(own.answers.items())
            if answers.tokenizer == tokenizer
        ]
        for file in files.instances:
            table = read_table(file)
            ids = table["instance_id"].to_pylist()
            wanted = [any(name in one.rows for _, one in models) for name in ids]
            # Of a file without prompts, the list would be of no type.
            table = table.filter(pa.array(wanted, pa.bool_()))
            if table.num_rows:
                index.add_instances(table, tokenizer)
                made = spans(table["prompt"], f"{name}/{tokenizer}", texts, documents)
                _add_details(table, made, models, index, details)
    details.flush()
    for model in read.values():
        if model.unused():
            raise UserError(
                f"{model.file} answers {model.unused()}, which no instance file has: delete the "
                "generations of this model and run again (the journal keeps finished work)."
            )
    write(f"{name}-index", index.payload())
    write(f"{name}-texts", index.beginnings())
    return {
        "name": name,
        "title": own.title,
        "models": list(own.answers),
        "controls": list(own.controls),
        "designed": {"factor": own.designed[0], "tasks": list(own.designed[1])},
        "tokenizers": list(own.prompts),
        "instances": len(index.needle),
        "answers": len(index.instance),
        "details": details.starts,
    }


def _add_details(
    table: pa.Table,
    prompts: Any,
    models: Sequence[tuple[int, ModelAnswers]],
    index: Index,
    details: Sharded,
) -> None:
    """Add the instances' prompts and answers."""
    names = ("instance_id", "references", "metric", "max_new_tokens")
    rows = zip(*(table[name].to_pylist() for name in names), strict=True)
    for (instance, references, metric, limit), (found, total, at, asked) in zip(
        rows, prompts, strict=True
    ):
        number = index.add_prompt(total, at, asked, references)
        own, size = [], sum(len(span[1]) if isinstance(span[1], str) else 8 for span in found)
        for place, read in models:
            for row in read.take(instance):
                index.add_answer(number, place, read, row)
                answer = read.detail(row) | {"model": place}
                own.append(answer)
                size += sum(len(v) for v in answer.values() if isinstance(v, str))
        details.add(
            {
                "id": instance,
                "prompt": found,
                "references": references,
                "metric": metric,
                "limit": limit,
                "answers": own,
            },
            size,
        )
