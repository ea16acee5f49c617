"""Rank a language's passages for every question, leaving out those that hold an answer."""

from importlib import import_module
from pathlib import Path

from needlework.jobs.job import running
from needlework.records import read_table
from needlework.retrieval.search import AnswerFree, random_ranking, search
from needlework.retrieval.vectors import count_rows, read_array, read_texts, write_array

with running(snakemake):
    corpus, params = snakemake.input.passages, snakemake.params
    tables = {Path(path).stem: read_table(path) for path in snakemake.input.questions}
    example_ids = tables[params.question_lang]["example_id"].to_pylist()
    answers: dict[str, list[str]] = {}
    for table in tables.values():
        for example_id, own in zip(
            table["example_id"].to_pylist(), table["answers"].to_pylist(), strict=True
        ):
            answers.setdefault(example_id, []).extend(own)
    # The benchmark's, so that it agrees with its metric.
    comparison = import_module(f"needlework.data.comparison.{params.comparison}")
    allowed = AnswerFree(
        list(read_texts(corpus, "text")),
        [answers[i] for i in example_ids],
        comparison.normalise,
        comparison.contains,
    )
    if params.retrieval == "semantic":
        ranking = search(
            read_array(snakemake.input.question_vectors[0]),
            read_array(snakemake.input.passage_vectors[0]),
            params.top,
            allowed,
            snakemake.threads,
            # No parameter: where it is searched changes no result.
            on_gpu=snakemake.config["retrieval"]["device"] == "gpu",
        )
    else:
        benchmark, lang = snakemake.wildcards.benchmark, snakemake.wildcards.lang
        names = [(benchmark, "random", lang, example_id) for example_id in example_ids]
        ranking = random_ranking(names, count_rows(corpus), params.top, allowed)
    write_array(ranking, snakemake.output[0])
