"""Answers of made servers, as the doctor's checks read them."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import pandas as pd
import pyarrow as pa

from needlework.answer_states import ANSWERED, STOP
from needlework.prompts.spans import Documents, literal
from needlework.records import GENERATIONS, instances_schema, scores_schema
from needlework.results.doctor.answers import (
    PromptTexts,
    ServerAnswers,
    first_answers,
    second_answers,
)
from needlework.results.doctor.comparison import SIDES, CellRules, cell_rows, joined
from needlework.results.doctor.seen import Seen

FACTORS = {"length": "int32", "lang": "string"}
SIZES, PLACES, EACH = (10, 40, 160), (0.0, 0.25, 0.5, 0.75, 1.0), 6
LANGUAGES = ("en", "de", "zh")
# What a server does with a prompt: the text, or columns of `records.GENERATIONS` and `answered_in`.
Reply = Callable[[dict[str, Any]], str | dict[str, Any]]


@cache
def asked(each: int = EACH) -> dict[str, list[dict[str, Any]]]:
    """By benchmark, prompts: pairs of UUIDs at five places of three lengths, and sentences in languages."""
    draw = random.Random(each)

    def name() -> str:
        return str(uuid.UUID(int=draw.getrandbits(128), version=4))

    def prompt(benchmark: str, number: int, lang: str, wanted: str, *texts: str) -> dict[str, Any]:
        roles = ("haystack", "needle", "haystack")
        spans = [literal(role, text) for role, text in zip(roles, texts, strict=True)]
        return {
            **{"instance_id": f"{benchmark} {number}", "example_id": f"q{number}", "lang": lang},
            **{"benchmark": benchmark, "task": "made", "metric": "exact", "max_new_tokens": 80},
            **{"prompt": [span._asdict() for span in spans], "references": [wanted]},
            **{"text": "".join(texts), "n_tokens": len("".join(texts)) // 4},
        }

    found: dict[str, list[dict[str, Any]]] = {"copying": [], "finding": []}
    for size in SIZES:
        for place in PLACES * each:
            pairs = [f"{name()}: {name()}, " for _ in range(size)]
            at = round(place * (size - 1))
            parts = "".join(pairs[:at]), pairs[at], "".join(pairs[at + 1 :])
            made = prompt("copying", len(found["copying"]), "en", pairs[at][38:-2], *parts)
            found["copying"].append(made | {"length": size, "place": place})
    for lang in LANGUAGES * 2 * each:
        number = len(found["finding"])
        wanted = f"the tower number {number} of {lang}"
        made = prompt("finding", number, lang, wanted, "Hay. ", f"Here is {wanted}. ", "Hay.")
        found["finding"].append(made | {"length": 10, "place": 0.5})
    return found


def right(prompt: dict[str, Any]) -> str:
    return f"It is {prompt['references'][0]}."


def tokens(prompt: dict[str, Any]) -> int:
    """The tokens that a server counts."""
    return 20 + len(prompt["text"]) // 3


def tables(rows: Iterable[dict[str, Any]], reply: Reply) -> tuple[pa.Table, pa.Table, pa.Table]:
    """PromptTexts, answers, and their scores."""
    asked, answers, scores = [], [], []
    for row in rows:
        said = reply(row)
        own = {"text": said} if isinstance(said, str) else {"text": right(row), **said}
        lang = own.pop("answered_in", row["lang"] if row["benchmark"] == "finding" else None)
        usual = {"finish_reason": STOP, "outcome": ANSWERED, "prompt_tokens": tokens(row)}
        key = {"instance_id": row["instance_id"], "sample": 0}
        answers.append({**key, **usual, **own})
        value = float(row["references"][0] in own["text"])
        scores.append({**key, "metric": "exact", "value": value, "answered_in": lang})
        asked.append(row)
    schemas = instances_schema(FACTORS), GENERATIONS, scores_schema(FACTORS)
    instances, generations, rated = (
        pa.Table.from_pylist(made, schema=schema)
        for made, schema in zip((asked, answers, scores), schemas, strict=True)
    )
    return instances, generations, rated


@cache
def server(reply: Reply = right, again: Reply | None = None, each: int = EACH) -> ServerAnswers:
    """The answers of a server; the second ones, to a third of the prompts, are the first unless given."""
    first, second = [], []
    for benchmark, rows in asked(each).items():
        lang = (lambda frame, _: frame["lang"]) if benchmark == "finding" else None
        first.append(first_answers(benchmark, *tables(rows, reply), "exact", lang))
        second.append(second_answers(benchmark, *tables(rows[::3], again or reply)[1:], "exact"))
    return ServerAnswers(
        "served", "org/model", *(pd.concat(n, ignore_index=True) for n in (first, second))
    )


def seen(
    served: ServerAnswers, other: ServerAnswers | None = None, worse_by: float | None = None
) -> Seen:
    prompts = PromptTexts()
    # The smallest prompts that are asked are among all others.
    each = len(served.first) // (len(SIZES) * len(PLACES) + 2 * len(LANGUAGES))
    for benchmark, rows in asked(each).items():
        prompts.add(benchmark, tables(rows, right)[0], Documents())
    cells = []
    if other is not None:
        other = replace(other, name="other")
        first = [side.first.assign(skipped=False) for side in (other, served)]
        sides = dict(zip(SIDES, first * 2, strict=True))
        all_prompts = [{"by": "all", "level": "", "questions": 2000}]
        cells = cell_rows("made", joined(sides), all_prompts, CellRules(0.05, 0.04, 100))  # type: ignore[arg-type]  # a cell
    return Seen(served, other, prompts, cells, worse_by)


def wrong_where(lost: Callable[[dict[str, Any]], bool]) -> Reply:
    """No answer to the prompts of copying that are lost."""
    return lambda p: "I cannot find it." if p["benchmark"] == "copying" and lost(p) else right(p)
