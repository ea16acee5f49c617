"""Whether mLongRR's configuration can be built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from needlework.benchmarks.mlongrr import prompt_files as tables_of_needles
from needlework.benchmarks.mlongrr.factors import ABSENT
from needlework.benchmarks.mlongrr.plan import (
    ARTICLES,
    NAME,
    RELEASED_DEPTHS,
    RELEASED_LENGTHS,
    Cell,
    Slice,
    cells,
    needle_counts,
    settings,
    slices,
    spread,
    texts,
)
from needlework.benchmarks.mlongrr.prompt_files import Prompt, PromptKey
from needlework.contract import block_of
from needlework.data.corpora.registry import folder_languages, languages_of
from needlework.errors import UserError
from needlework.folders import entries

if TYPE_CHECKING:
    from needlework.benchmarks.mlongrr.settings import Mlongrr, Needles
    from needlework.planning.configuration import Configuration
    from needlework.settings.sources import OwnCorpus


def check(config: Configuration) -> None:
    """Raise UserError where the benchmark's configuration cannot be built."""
    own: Mlongrr = block_of(config, NAME)
    where, folder = f"benchmarks.{NAME}", config.sources.mlongrr.folder
    if own.source == "released":
        _check_released(own, where)
    _check_languages(own, where, folder_languages(folder, NAME), config.corpora)
    _check_tasks(own, where)
    if own.budget == "strict" and min(own.lengths) <= own.max_new_tokens:
        raise UserError(
            f"{where}.lengths has {min(own.lengths)}, and {where}.max_new_tokens "
            f"({own.max_new_tokens}) leaves no room for a prompt: raise the length, or lower "
            "max_new_tokens."
        )
    _check_needles(own, folder)


def _check_languages(
    own: Mlongrr, where: str, theirs: list[str], corpora: Mapping[str, OwnCorpus]
) -> None:
    first, *further = own.haystacks
    for haystack in (first, *(name for name in further if name in corpora)):
        known = [*languages_of(haystack, corpora), *(theirs if haystack == ARTICLES else [])]
        for lang in own.languages:
            if lang not in known:
                raise UserError(
                    f"{where}.languages has {lang!r}, but {haystack} has {', '.join(known)}: take another "
                    "haystack, or put a text into the folder of sources.mlongrr.folder."
                )


def _check_tasks(own: Mlongrr, where: str) -> None:
    numbers = needle_counts(own)
    for n in own.absent:
        if n not in numbers:
            raise UserError(
                f"{where}.absent has {n}, which no task has: add {{n: {n}}} to {where}.tasks."
            )
    for task in own.tasks:
        n = task.n
        if numbers.count(n) > 1:
            raise UserError(f"{where}.tasks has {n} needles twice: join the two tasks.")
        if n == 1 and "city" in task.questions:
            raise UserError(
                f"{where}.tasks asks for the city of one needle, with nothing to compare: leave `city` out."
            )
        if n > 1 and (most := max(task.depths) + spread(task)) > 100:
            raise UserError(
                f"{where}.tasks: with {n} needles the last would stand {most}% deep: lower `depths` or "
                "`spread`."
            )


def _check_released(own: Mlongrr, where: str) -> None:
    """Raise UserError with all that has to change where the released files lack what is asked."""
    known = languages_of("mlongrr_released_one")
    langs = [lang for lang in own.languages if lang in known] or known
    lengths = [n for n in own.lengths if n in RELEASED_LENGTHS] or RELEASED_LENGTHS
    tasks = _released_tasks(own.tasks) or [_released_task(1), _released_task(3)]
    other = {
        key: wanted
        for key, asked, wanted in (
            ("languages", own.languages, langs),
            ("lengths", own.lengths, lengths),
            ("tasks", own.tasks, tasks),
            ("absent", own.absent, ()),
        )
        if tuple(wanted) != asked
    }
    if other:
        raise UserError(
            f"{where} has {', '.join(other)} that the released files do not have: write "
            f"{', '.join(f'`{key}: {_yaml(wanted)}`' for key, wanted in other.items())}, or leave out "
            "`source: released`."
        )


def _released_tasks(tasks: Iterable[Needles]) -> list[dict[str, object]]:
    """The tasks as far as the released files have them."""
    return [
        {**dict(task), "depths": [d for d in task.depths if d in known] or list(known)}
        for task in tasks
        if (known := RELEASED_DEPTHS.get(task.n))
    ]


def _released_task(n: int) -> dict[str, object]:
    return {"n": n, "depths": list(RELEASED_DEPTHS[n]), "questions": ["number"]}


def _yaml(value: object) -> str:
    """A list as it stands in a configuration."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_yaml(item)}' for key, item in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_yaml, value))}]"
    return str(value)


def _check_needles(own: Mlongrr, folder: str | None) -> None:
    """Raise UserError where a language has no needle, a prompt is missing, or cities are too few."""
    root = Path(__file__).resolve().parents[5] / "resources"
    folders = [root / NAME, root / "sample" / NAME if own.data == "sample" else folder]
    files = [path for each in folders if each for path in entries(each, ".csv")]
    needles, prompts = (
        tables_of_needles.needles(files, own.wording),
        tables_of_needles.prompts(files),
    )
    for name, (_, lang) in zip(slices(own), texts(own), strict=True):
        if lang not in needles:
            raise UserError(
                f"benchmarks.{NAME}.languages has {lang!r}, which has no needle, unlike "
                f"{', '.join(sorted(needles))}; add a row to needles.csv in the folder of "
                "sources.mlongrr.folder."
            )
        names = {english for english, _ in tables_of_needles.cities(files, lang)}
        if len(names) < max(needle_counts(own)):
            raise UserError(
                f"benchmarks.{NAME}.tasks has {max(needle_counts(own))} needles, but there are {len(names)} "
                f"cities in {lang!r}: add some to cities.csv."
            )
        asked = list(cells(Slice(**settings(own, name, own.lengths))))
        if not asked:
            raise UserError(
                f"benchmarks.{NAME}.prompts has `translated` alone, but English prompts are not "
                "translated: add `paper`, or leave en out of the languages."
            )
        _check_prompts(own, asked, prompts, lang)


def _check_prompts(
    own: Mlongrr, asked: list[Cell], prompts: dict[PromptKey, Prompt], lang: str
) -> None:
    """Raise UserError where a prompt has none of the tasks, or a task none of the prompts."""
    there = [
        cell
        for cell in asked
        if tables_of_needles.has_prompt(prompts, cell.template, cell.n, cell.question, lang)
    ]
    for cell in asked:
        if not any(cell.template == other.template for other in there):
            tables_of_needles.find_prompt(prompts, cell.template, cell.n, cell.question, lang)
        if not any((cell.n, cell.question) == (other.n, other.question) for other in there):
            raise UserError(
                f"benchmarks.{NAME}.prompts is {_yaml(own.prompts)}, none of which asks for the "
                f"{cell.question} of {cell.n} needles in {lang!r}: add `paper`, or leave "
                f"{cell.question} out of this task's `questions`."
            )
    for cell in there:
        prompt = tables_of_needles.find_prompt(prompts, cell.template, cell.n, cell.question, lang)
        if cell.task == ABSENT and not prompt.unanswerable:
            raise UserError(
                f"benchmarks.{NAME}.absent has {cell.n}, but the prompt {cell.template!r} does not say "
                "what to answer then: leave `absent` or the prompt out."
            )
