"""Exported prompts as tasks that inspect_ai and lm-eval run as they are; both ask, and needlework scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from needlework import __version__
from needlework.atomic import atomic_write

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


def limits(prompts: Iterable[str | Path]) -> list[int]:
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
    """Write the task of inspect_ai, and the folder of those of lm-eval.

    `prompts` are the exported Parquet files, `templates` the code of the former and of the latter.
    """
    texts = [Path(template).read_text(encoding="utf-8") for template in templates]
    with atomic_write(inspect_task) as part:
        part.write_text(texts[0], encoding="utf-8")
    folder = Path(lm_eval)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "prompts.py").write_text(texts[1], encoding="utf-8")
    name = f"needlework_{benchmark}_{tokenizer}"
    for limit in limits(prompts):
        text = _LM_EVAL.format(benchmark=benchmark, limit=limit, name=name, version=__version__)
        (folder / f"{name}_{limit}.yaml").write_text(text, encoding="utf-8")
