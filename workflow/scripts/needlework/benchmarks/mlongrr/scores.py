"""mLongRR's scores: answers by the strict rules, by the notebooks' ones, and the second scorer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from needlework.benchmarks.contract import Own
from needlework.benchmarks.mlongrr import careful, released, strict
from needlework.benchmarks.mlongrr.careful import CITY_NAMES
from needlework.benchmarks.mlongrr.factors import ABSENT, METRIC, RETRIEVAL
from needlework.scoring.scores import Rating, score_rows, second

METRICS = tuple(map(str, METRIC.order))

# A file of the authors' answers: a model's in one language, to one question about so many needles.
_FILE = ("lang", "haystack", "n_needles", "question", "template")


def score(
    instances: pa.Table,
    generations: pa.Table,
    translations: None = None,
    *,
    model: str,
    settings: Own,
    city_names: Sequence[str | Path] = (CITY_NAMES,),
) -> pa.Table:
    """Rows of scores (METRICS) for each row of `generations`.

    `settings` may have `unanswerable`: words beside ours that say that there is no needle. An answer
    without text has the verdict "length" where the output limit cut it off (a model that did not end
    its reasoning), else "no_answer". `city_names` is the file of the cities' names in further languages. The
    notebooks' rules see the model's thoughts too, as they know none. Raises UserError as `score_rows` does.
    """
    names = careful.city_names(city_names[0])
    further = tuple(settings.get("unanswerable", ()))
    files = _files(instances, generations)

    def rate(row: Mapping[str, Any], text: str | None, translated: str | None) -> Rating:
        said, raw, lang = text or "", row["raw_text"] or "", row["lang"]
        nothing = 0.0, "length" if row["finish_reason"] == "length" else "no_answer"
        if not said.strip() and not raw.strip():
            return [(*nothing, metric) for metric in METRICS]

        def rating(
            own: tuple[float, str],
            theirs: tuple[tuple[float, str], tuple[float, str]],
            reader: careful.Verdict,
        ) -> Rating:
            """By all metrics; the strict rules and the second scorer need text that is no thought."""
            if not said.strip():
                own = reader = nothing
            elif not reader[0] and own[1] == "unanswerable":
                reader = own
            papers = [
                (*each, metric) for each, metric in zip((own, *theirs), METRICS[:-1], strict=True)
            ]
            return [*papers, second(reader, own[0])]

        gold, words = row["references"], (row["unanswerable"], *further)
        if row["task"] == ABSENT:
            found = released.score([raw], gold)
            words = *words, *gold
            own, reader = strict.score_absent(said, words), careful.absent(said, words, lang)
            return rating(own, (found, found), reader)
        numbers = row["numbers"].split()
        claude = released.claude_gold(numbers)
        if row["question"] == "city":
            cities = [city.split("/") for city in row["cities"].split("|")]
            others = [name for each in cities for name in each]
            own = strict.score_city(said, gold, others, words)
            reader = careful.city(said, gold, cities, lang, names)
            theirs = released.score([raw], gold), released.score([raw], cities[claude])
        else:
            answers = [raw] if row["task"] == RETRIEVAL else files[_file(row)]
            own = strict.score_number(said, gold[0], numbers, words)
            reader = careful.number(said, gold[0], lang)
            theirs = released.score(answers, gold), released.score(answers, [numbers[claude]])
        return rating(own, theirs, reader)

    return score_rows(instances, generations, rate, model=model)


def _file(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[factor] for factor in _FILE)


def _files(instances: pa.Table, generations: pa.Table) -> dict[tuple[Any, ...], list[str]]:
    """The answers of each file."""
    rows = instances.select(["instance_id", *_FILE]).to_pylist()
    of = {row["instance_id"]: _file(row) for row in rows}
    files: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    whole = pc.coalesce(generations["raw_text"], generations["text"]).to_pylist()
    for key, text in zip(generations["instance_id"].to_pylist(), whole, strict=True):
        if key in of and text:
            files[of[key]].append(text)
    return files
