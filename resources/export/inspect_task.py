"""The prompts beside this file as a task of inspect_ai:

    inspect eval inspect_task.py --model <provider>/<model>
    inspect eval inspect_task.py --model <provider>/<model> -T prompts=en-en

It asks and does not score: needlework scores the log (`backend: replay`, `answers: <log>`).
`prompts` names one of the files; without it, all are asked.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, GenerateConfig
from inspect_ai.solver import Generate, Solver, TaskState, solver

HERE = Path(__file__).parent
KEPT = ("benchmark", "task", "metric", "max_new_tokens", "n_tokens")


@solver
def answer() -> Solver:
    """One answer, of at most as many tokens as the prompt's own limit."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        return await generate(state, max_tokens=state.metadata["max_new_tokens"])

    return solve


def samples(prompts: str) -> Iterator[Sample]:
    """The prompts of the files, by name."""
    for path in sorted(HERE.glob(f"{prompts}.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                yield Sample(
                    id=row["instance_id"],
                    input=[ChatMessageUser(content=m["content"]) for m in row["messages"]],
                    target=row["references"],
                    metadata={name: row[name] for name in KEPT},
                )


@task
def needlework(prompts: str = "*") -> Task:
    """Ask the prompts greedily; `--temperature` and other options of inspect_ai override this."""
    name = f"{HERE.parent.name}-{HERE.name}"
    return Task(
        dataset=MemoryDataset(list(samples(prompts)), name=name),
        solver=answer(),
        scorer=None,
        config=GenerateConfig(temperature=0),
    )
