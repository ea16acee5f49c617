"""Prompts for other programs: rendered, as chat messages, in JSON Lines and in Parquet.

Both formats have one prompt per row: its `instance_id`, by which the backend `replay` finds an answer, the
message, the references, the metric, the limit of the answer, and the benchmark's factors.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from needlework import __version__
from needlework.atomic import atomic_write
from needlework.prompts.spans import messages, render
from needlework.records import config_digest, file_digest, read_table

# The number of characters that are held before they are written, so that memory holds no whole file.
ROW_GROUP = 1 << 24

MESSAGES = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))


def exported_schema(instances: pa.Schema) -> pa.Schema:
    """The columns of an instance file, with `messages` in place of `prompt`."""
    fields = [
        pa.field("messages", MESSAGES) if field.name == "prompt" else field.remove_metadata()
        for field in instances
    ]
    return pa.schema(fields)


def exported_rows(table: pa.Table, documents: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The rows of an instance file with their prompts rendered, one at a time."""
    for batch in table.to_batches(max_chunksize=64):
        for row in batch.to_pylist():
            yield {
                "messages" if name == "prompt" else name: messages(render(value, documents))
                if name == "prompt"
                else value
                for name, value in row.items()
            }


def export(
    instances: str | Path,
    documents: Mapping[str, str],
    jsonl: str | Path,
    parquet: str | Path,
) -> int:
    """Write an instance file's prompts to both files, atomically; returns their number."""
    table = read_table(instances)
    schema = exported_schema(table.schema)
    count = 0
    with (
        atomic_write(jsonl) as text,
        atomic_write(parquet) as binary,
        text.open("w", encoding="utf-8") as lines,
        pq.ParquetWriter(
            binary, schema, compression="zstd", store_schema=False, write_page_checksum=True
        ) as writer,
    ):
        for rows in _groups(exported_rows(table, documents)):
            count += len(rows)
            lines.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
        writer.add_key_value_metadata(
            {
                "needlework.version": __version__,
                "needlework.config": config_digest(None),
                "needlework.inputs": json.dumps(
                    {Path(instances).as_posix(): file_digest(instances)}
                ),
            }
        )
    return count


def _groups(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The rows in lists of about ROW_GROUP characters, at least one."""
    group: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        group.append(row)
        size += len(row["messages"][0]["content"])
        if size >= ROW_GROUP:
            yield group
            group, size = [], 0
    # The last, which may be empty: the file then has its columns, and no row.
    yield group


# Exported prompts as tasks that inspect_ai and lm-eval run as they are; both ask, and needlework scores.

# One for each limit of answers: lm-eval's limit is the task's.
_LM_EVAL = """\
# Prompts of {benchmark} whose answers have at most {limit} tokens. Scoring happens in needlework: it replays
# the file of samples.
task: {name}_{limit}
tag: {name}
custom_dataset: !function prompts.load
dataset_kwargs: {{max_new_tokens: {limit}}}
test_split: test
output_type: generate_until
doc_to_text: !function prompts.prompt
doc_to_target: !function prompts.reference
target_delimiter: ""
num_fewshot: 0
generation_kwargs: {{until: [], do_sample: false, temperature: 0.0, max_gen_toks: {limit}}}
metric_list: [{{metric: bypass, aggregation: bypass, higher_is_better: true}}]
metadata: {{version: "{version}"}}
"""


def answer_limits(prompts: Iterable[str | Path]) -> list[int]:
    """The limits of answers that the prompts have, from their Parquet files."""
    columns = [
        pq.read_table(path, columns=["max_new_tokens"])["max_new_tokens"] for path in prompts
    ]
    return sorted({limit for column in columns for limit in pc.unique(column).to_pylist()})


def write_tasks(
    benchmark: str,
    tokenizer: str,
    prompts: Sequence[str | Path],
    templates: tuple[str | Path, str | Path],
    inspect_task: str | Path,
    lm_eval: str | Path,
) -> None:
    """Write the task for inspect_ai, and the folder of tasks for lm-eval.

    `prompts` are the exported Parquet files, `templates` the code of the inspect_ai task and of the lm-eval
    task.
    """
    texts = [Path(template).read_text(encoding="utf-8") for template in templates]
    with atomic_write(inspect_task) as part:
        part.write_text(texts[0], encoding="utf-8")
    folder = Path(lm_eval)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "prompts.py").write_text(texts[1], encoding="utf-8")
    name = f"needlework_{benchmark}_{tokenizer}"
    for limit in answer_limits(prompts):
        text = _LM_EVAL.format(benchmark=benchmark, limit=limit, name=name, version=__version__)
        (folder / f"{name}_{limit}.yaml").write_text(text, encoding="utf-8")
