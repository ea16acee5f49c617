"""Send a sample of a benchmark's prompts to a model several times, and count the answers that change."""

import json
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from needlework.atomic import atomic_write
from needlework.benchmarks.parts import load_part
from needlework.jobs.job import running
from needlework.journal import Journal
from needlework.models.backends.base import Backend, load_backend
from needlework.models.generation import InstanceRequests
from needlework.models.repeatability import ask, conditions, draw
from needlework.models.thoughts import marks
from needlework.prompts.spans import Documents
from needlework.records import read_table
from needlework.results.repeatability import compare

# vLLM starts its engine in a new Python that imports this file.
if __name__ == "__main__":
    with running(snakemake) as logger:
        params, inputs = snakemake.params, snakemake.input
        name, benchmark = snakemake.wildcards.model, snakemake.wildcards.benchmark
        folder = Path(snakemake.config["journal"])
        entry = {**snakemake.config["models"][name], "model": name, "journal": str(folder)}
        everything = InstanceRequests(
            inputs.instances,
            Documents.of(benchmark, inputs.corpora, inputs.documents),
            lengths=params.lengths,
            only=params.only,
        )
        fitting = [request for request in everything if request.n_tokens <= entry["context"]]
        requests = draw(fitting, params.sample["prompts"], params.sample["seed"])
        score = load_part(benchmark, "scores").score
        columns = ["instance_id", "task", "example_id", "references", *params.factors]
        instances = pa.concat_tables(read_table(path, columns) for path in inputs.instances)
        asked = pa.array([request.instance_id for request in requests], pa.string())
        instances = instances.filter(pc.is_in(instances["instance_id"], value_set=asked))

        def load(changes: Mapping[str, object]) -> Backend:
            return load_backend(entry["backend"], {**entry, **changes})

        def values(table: pa.Table) -> list[list[float]]:
            """The scores of each answer under all metrics, as text."""
            more = {key: inputs.get(key) for key in params.more}
            scores = score(instances, table, None, model=name, settings=params.settings, **more)
            found: dict[str, list[float]] = {}
            for row in scores.to_pylist():
                found.setdefault(row["instance_id"], []).append(row["value"])
            return [found[name] for name in table["instance_id"].to_pylist()]

        answers = {}
        with Journal(folder / "repeatability" / name) as journal:
            for condition, how in conditions(entry).items():
                answers[condition] = ask(
                    requests,
                    condition,
                    how,
                    load,
                    journal,
                    marks=marks(entry),
                    opened=bool(entry["reasoning"]),
                )
        rows = compare(answers, {key: values(table) for key, table in answers.items()})
        for row in rows:
            logger.info("%s", row)
        with atomic_write(snakemake.output[0]) as part:
            said = [{"model": name, "benchmark": benchmark, **row} for row in rows]
            part.write_text(json.dumps(said), encoding="utf-8")
