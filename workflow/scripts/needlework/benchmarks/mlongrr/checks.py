"""Whether mLongRR's configuration can be built."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from needlework.benchmarks.contract import Config, Own
from needlework.benchmarks.mlongrr.factors import ABSENT
from needlework.benchmarks.mlongrr.plan import (
    ARTICLES,
    NAME,
    RELEASED_DEPTHS,
    RELEASED_LENGTHS,
    SPREAD,
    cells,
    needle_counts,
    texts,
)
from needlework.data.corpora import mlongrr_csv as tables_of_needles
from needlework.data.corpora.languages import folder_languages
from needlework.data.corpora.registry import languages_of
from needlework.errors import UserError


def check(config: Config) -> None:
    """Raise UserError where the benchmark's configuration cannot be built."""
    own, where = config["benchmarks"][NAME], f"benchmarks.{NAME}"
    folder = config["sources"].get(NAME, {}).get("folder")
    _check_languages(own, where, folder_languages(folder, NAME))
    _check_tasks(own, where)
    if own["source"] == "released":
        _check_released(own, where)
    if own["budget"] == "strict" and min(own["lengths"]) <= own["max_new_tokens"]:
        raise UserError(
            f"{where}.lengths has {min(own['lengths'])}, of which {where}.max_new_tokens "
            f"({own['max_new_tokens']}) leaves nothing: raise the one or lower the other."
        )
    _check_needles(own, folder)


def _check_languages(own: Own, where: str, theirs: list[str]) -> None:
    first = own["haystacks"][0]
    known = [*languages_of(first), *(theirs if first == ARTICLES else [])]
    for lang in own["languages"]:
        if lang not in known:
            raise UserError(
                f"{where}.languages has {lang!r}, but {first} has {', '.join(known)}: take another "
                "haystack, or put a text into the folder of sources.mlongrr.folder."
            )


def _check_tasks(own: Own, where: str) -> None:
    numbers = needle_counts(own)
    for n in own["absent"]:
        if n not in numbers:
            raise UserError(
                f"{where}.absent has {n}, which no task has: add {{n: {n}}} to {where}.tasks."
            )
    for task in own["tasks"]:
        n = task["n"]
        if numbers.count(n) > 1:
            raise UserError(f"{where}.tasks has {n} needles twice: make one task of them.")
        if n == 1 and "city" in task["questions"]:
            raise UserError(
                f"{where}.tasks asks for the city of one needle: there is nothing to compare; leave it out."
            )
        if n > 1 and (most := max(task["depths"]) + task.get("spread", SPREAD)) > 100:
            raise UserError(
                f"{where}.tasks: with {n} needles the last would stand {most}% deep: lower `depths` or "
                "`spread`."
            )


def _check_released(own: Own, where: str) -> None:
    """Raise UserError where something is asked that the released files have not."""
    wanted: dict[str, tuple[Collection[Any], Collection[Any]]] = {
        "haystacks": ([ARTICLES], own["haystacks"]),
        "data": ([NAME], [own["data"]]),
        "budget": (["released"], [own["budget"]]),
        "examples": ([1], [own["examples"]]),
        "absent": ([], own["absent"]),
        "lengths": (RELEASED_LENGTHS, own["lengths"]),
        "tasks (n)": (tuple(RELEASED_DEPTHS), needle_counts(own)),
        "languages": (languages_of("mlongrr_released_one"), own["languages"]),
    }
    for key, (known, given) in wanted.items():
        for value in given:
            if value not in known:
                raise UserError(
                    f"{where}.{key} has {value!r}, but with `source: released` it can be "
                    f"{' or '.join(map(str, known)) or 'empty'} alone."
                )
    for task in own["tasks"]:
        for depth in task["depths"]:
            if depth not in RELEASED_DEPTHS[task["n"]]:
                raise UserError(
                    f"{where}.tasks has the depth {depth} for {task['n']} needles, which the released files "
                    f"have not: they have {', '.join(map(str, RELEASED_DEPTHS[task['n']]))}."
                )


def _check_needles(own: Own, folder: str | None) -> None:
    """Raise UserError where a language has no needle, a prompt is missing, or cities are too few."""
    root = Path(__file__).resolve().parents[5] / "resources"
    folders = [root / NAME, root / "sample" / NAME if own["data"] == "sample" else folder]
    files = [path for each in folders if each for path in sorted(Path(each).glob("*.csv"))]
    needles, prompts = (
        tables_of_needles.needles(files, own["wording"]),
        tables_of_needles.prompts(files),
    )
    for _, lang in texts(own):
        if lang not in needles:
            raise UserError(
                f"benchmarks.{NAME}.languages has {lang!r}, which has no needle: there are those in "
                f"{', '.join(sorted(needles))}; add a row to needles.csv in the folder of "
                "sources.mlongrr.folder."
            )
        names = {english for english, _ in tables_of_needles.cities(files, lang)}
        if len(names) < max(needle_counts(own)):
            raise UserError(
                f"benchmarks.{NAME}.tasks has {max(needle_counts(own))} needles, but there are {len(names)} "
                f"cities in {lang!r}: add some to cities.csv."
            )
        asked = list(cells({**own, "lang": lang}))
        if not asked:
            raise UserError(
                f"benchmarks.{NAME}.prompts has `translated` alone, but English prompts are not "
                "translated: add `paper`, or leave en out of the languages."
            )
        for cell in asked:
            prompt = tables_of_needles.find_prompt(
                prompts, cell.template, cell.n, cell.question, lang
            )
            if cell.task == ABSENT and not prompt.unanswerable:
                raise UserError(
                    f"benchmarks.{NAME}.absent has {cell.n}, but the prompt {cell.template!r} does not say "
                    "what to answer then: leave the one or the other out."
                )
