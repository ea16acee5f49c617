"""The object BENCHMARK of mLongRR, its report card, and checks of its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from needlework.benchmarks.benchmark import Benchmark, Plan, RunFacts, Scoring, Shown
from needlework.benchmarks.mlongrr import figures, plan, prompt_files, tables
from needlework.benchmarks.mlongrr.factors import (
    ABSENT,
    DEPTH,
    DEPTHS,
    FACTORS,
    LANG,
    LENGTH,
    LENGTHS,
    N_NEEDLES,
    RETRIEVAL,
)
from needlework.benchmarks.mlongrr.metrics import METRICS
from needlework.benchmarks.mlongrr.paper import usual
from needlework.benchmarks.mlongrr.plan import (
    ARTICLES,
    HERE,
    NAME,
    RELEASED,
    Slice,
    prompt_kinds,
    settings,
    spread,
    texts,
)
from needlework.contract import block_of
from needlework.data.corpora.registry import ROOT, folder_languages, languages_of
from needlework.errors import UserError
from needlework.folders import entries
from needlework.results.cards.card import Card, CardPart
from needlework.results.result import Context, results_in

if TYPE_CHECKING:
    import pandas as pd

    from needlework.benchmarks.mlongrr.settings import Mlongrr
    from needlework.planning.configuration import Configuration


def check(config: Configuration) -> None:
    """Raise UserError if the benchmark's configuration cannot be built."""
    own: Mlongrr = block_of(config, NAME)
    folder = config.sources.mlongrr.folder
    if own.source == "released":
        _check_released(own)
    theirs, (first, *further) = folder_languages(folder, NAME), own.haystacks
    for haystack in (first, *(name for name in further if name in config.corpora)):
        known = [*languages_of(haystack, config.corpora), *(theirs if haystack == ARTICLES else [])]
        for lang in own.languages:
            if lang not in known:
                raise UserError(
                    f"{HERE}.languages has {lang!r}, but {haystack} has {', '.join(known)}: take another "
                    "haystack, or put a text into the folder of sources.mlongrr.folder."
                )
    counts = [task.n for task in own.tasks]
    for n in own.absent:
        if n not in counts:
            raise UserError(
                f"{HERE}.absent has {n}, which no task has: add {{n: {n}}} to {HERE}.tasks."
            )
    for task in own.tasks:
        n, most = task.n, max(task.depths) + spread(task)
        if counts.count(n) > 1:
            raise UserError(f"{HERE}.tasks has {n} needles twice: join the two tasks.")
        if n == 1 and "city" in task.questions:
            raise UserError(
                f"{HERE}.tasks asks for the city of one needle, with nothing to compare: leave `city` out."
            )
        if n > 1 and most > 100:
            raise UserError(
                f"{HERE}.tasks: with {n} needles the last would stand {most}% deep: lower `depths` or "
                "`spread`."
            )
    if own.budget == "strict" and min(own.lengths) <= own.max_new_tokens:
        raise UserError(
            f"{HERE}.lengths has {min(own.lengths)}, and {HERE}.max_new_tokens ({own.max_new_tokens}) "
            "leaves no room for a prompt: raise the length, or lower max_new_tokens."
        )
    _check_needles(own, folder)


def _check_released(own: Mlongrr) -> None:
    """Raise UserError with all that has to change where the released files lack what is asked."""
    langs = languages_of(RELEASED[1])
    tasks = [
        {**dict(task), "depths": [d for d in task.depths if d in known] or list(known)}
        for task in own.tasks
        if (known := DEPTHS.get(task.n))
    ]
    every = [
        {"n": n, "depths": list(depths), "questions": ["number"]} for n, depths in DEPTHS.items()
    ]
    other = {
        key: wanted
        for key, asked, wanted in (
            ("languages", own.languages, [x for x in own.languages if x in langs] or langs),
            (
                "lengths",
                own.lengths,
                [n for n in own.lengths if n in LENGTHS] or LENGTHS,
            ),
            ("tasks", own.tasks, tasks or every),
            ("absent", own.absent, ()),
        )
        if tuple(wanted) != asked
    }
    if other:
        raise UserError(
            f"{HERE} has {', '.join(other)} that the released files do not have: write "
            f"{', '.join(f'`{key}: {_yaml(wanted)}`' for key, wanted in other.items())}, or leave out "
            "`source: released`."
        )


def _yaml(value: object) -> str:
    """A list as it stands in a configuration."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_yaml(item)}' for key, item in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_yaml, value))}]"
    return str(value)


def _check_needles(own: Mlongrr, folder: str | None) -> None:
    """Raise UserError if a language has no needle, a prompt is missing, or cities are too few."""
    resources = ROOT / "resources"
    folders = [resources / NAME, resources / "sample" / NAME if own.data == "sample" else folder]
    files = [path for each in folders if each for path in entries(each, ".csv")]
    needles, known = prompt_files.needles(files, own.wording), prompt_files.prompts(files)
    most = max(task.n for task in own.tasks)
    for name, (_, lang) in texts(own).items():
        if lang not in needles:
            raise UserError(
                f"{HERE}.languages has {lang!r}, which has no needle, unlike {', '.join(sorted(needles))}; "
                "add a row to needles.csv in the folder of sources.mlongrr.folder."
            )
        cities = {english for english, _ in prompt_files.cities(files, lang)}
        if len(cities) < most:
            raise UserError(
                f"{HERE}.tasks has {most} needles, but there are {len(cities)} cities in {lang!r}: add some "
                "to cities.csv."
            )
        asked = list(prompt_kinds(Slice(**settings(own, name, own.lengths))))
        if not asked:
            raise UserError(
                f"{HERE}.prompts has `translated` alone, but English prompts are not translated: add "
                "`paper`, or leave en out of the languages."
            )
        # A prompt may have some of the tasks, but each has one, and each task has a prompt.
        there = [kind for kind in asked if kind.key in known]
        templates = {kind.template for kind in there}
        answered = {(kind.n_needles, kind.question) for kind in there}
        for kind in asked:
            n, question = kind.n_needles, kind.question
            if kind.template not in templates:
                same = [key for key in known if key.prompt == kind.template]
                of_name = sorted({f"{key.n_needles} ({key.question}, {key.lang})" for key in same})
                raise UserError(
                    f"there is no prompt {kind.template!r} for {n} needles, question {question!r}, language "
                    f"{kind.key.lang!r}; there is {', '.join(of_name) or 'none of that name'}: leave it out "
                    f"of {HERE}.prompts, or add it to prompts.csv in the folder of sources.mlongrr.folder."
                )
            if (n, question) not in answered:
                raise UserError(
                    f"{HERE}.prompts is {_yaml(own.prompts)}, none of which asks for the {question} of {n} "
                    f"needles in {lang!r}: add `paper`, or leave {question} out of this task's `questions`."
                )
        for kind in there:
            if kind.task == ABSENT and not known[kind.key].unanswerable:
                raise UserError(
                    f"{HERE}.absent has {kind.n_needles}, but the prompt {kind.template!r} does not say what "
                    "to answer then: leave `absent` or the prompt out."
                )


def with_needles(rows: pd.DataFrame, run: Context) -> pd.DataFrame:
    """The rows of questions about present needles, with the first needle's place from 0 to 1."""
    rows = usual(rows[rows["task"] != ABSENT], run)
    return rows.assign(depth=rows["depth"].astype(float) / 100)


def asked_in(rows: pd.DataFrame, run: Context) -> pd.Series:
    """The language of the text."""
    return rows["lang"].astype(object)


def said_none(rows: pd.DataFrame, run: Context) -> pd.Series:
    """Whether the answer says that the needle is missing, although it is there."""
    said = (rows["verdict"].astype(str) == "unanswerable").astype(object)
    return said.where((rows["task"] != ABSENT) & rows["metric"].isin(["strict", "careful"]))


CARD = Card(
    parts=(
        CardPart(
            with_needles,
            held=("lang", "length", "n_needles", "question", "depth"),
            length=replace(LENGTH, label="tokens"),
            depth=replace(DEPTH, type="double", percent=100),
            needles=replace(N_NEEDLES, label="", words={}),
            language=replace(LANG, label=""),
        ),
    ),
    asked_in=asked_in,
    said_none=said_none,
)


BENCHMARK = Benchmark(
    name=plan.NAME,
    title="mLongRR",
    paper="https://arxiv.org/abs/2409.18006",
    factors=FACTORS,
    results=results_in(tables, figures),
    check=check,
    plan=Plan(
        slices=plan.slices,
        settings=plan.settings,
        reads=plan.reads,
        quotes=plan.quotes,
        decided=plan.decided,
        spare=plan.spare,
    ),
    scoring=Scoring(
        metrics=METRICS,
        judged={ABSENT: "none"},
    ),
    shown=Shown(
        prompts=tables.PROMPTS,
        factors=figures.FACTORS,
        designed=(LENGTH.name, (RETRIEVAL,)),
        card=CARD,
    ),
    run=RunFacts(
        data=plan.data,
        setup=plan.SETUP,
        run_settings=plan.run_settings,
        conditions=plan.conditions,
        filled_by=plan.FILLED_BY,
    ),
)
