"""What mLongRR consists of: its tasks, factors and slices, and what each slice depends on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from needlework.benchmarks.contract import Result
from needlework.corpora import mlongrr_csv as tables_of_needles
from needlework.corpora.languages import CORPUS_LANGUAGES, folder_languages
from needlework.decoding import decoding
from needlework.errors import UserError

NAME = "mlongrr"
TITLE = "mLongRR"
TRANSLATED = False

# Factor columns and their Arrow types, by name: planning needs no Arrow.
FACTORS: dict[str, str] = {
    "lang": "string",
    "haystack": "string",
    "length": "int32",
    # How many needles the question speaks of.
    "n_needles": "int32",
    "question": "string",
    # Percent; null where there is no needle.
    "depth": "int32",
    # The name of the prompt (`prompts` in the configuration).
    "template": "string",
    # Percent of the haystack's tokens before the first needle.
    "real_depth": "double",
    "haystack_tokens": "int32",
    "sentences": "int32",
    "sentences_before": "int32",
    # Whether the text ran out before the length.
    "exhausted": "bool",
    # Tokens a word of the language (Table 2).
    "fertility": "double",
    # The accuracy of who reads all needles and guesses among them; null for one needle or none.
    "chance": "double",
    # What the needles say, in the order of the text: numbers parted by a space; cities by "|", each with
    # its English name and that in the language, parted by "/".
    "numbers": "string",
    "cities": "string",
    # What the prompt asks for where there is no needle; empty where it does not.
    "unanswerable": "string",
}

# Tasks: one needle to find, several to compare, none to say so.
RETRIEVAL, REASONING, ABSENT = "retrieval", "reasoning", "absent"
QUESTIONS = ("number", "city")
# Percent points behind the first needle up to which the others stand (paper, section 3.2.2).
SPREAD = 25
RELEASED_LENGTHS = (2000, 8000, 16000, 32000, 64000)
RELEASED_DEPTHS = {1: (0, 25, 50, 75, 100), 3: (0, 25, 50, 75)}
# Tokens that a haystack leaves free of its length (released code).
RELEASED_MARGIN = 100
# The share of a length that may stay free where the text ends before a haystack counts as exhausted.
FREE = 0.01
ARTICLES = "mlongrr_articles"

TABLES: dict[str, Result] = {}
FIGURES: dict[str, Result] = {}


class Cell(NamedTuple):
    """A task with its question and prompt: `n` needles, the first at `depth` percent.

    The others stand up to `spread` percent points behind it. `depth` is None where there is no needle.
    """

    task: str
    n: int
    question: str
    depth: int | None
    spread: int
    template: str


def tables(own: Mapping[str, Any]) -> dict[str, Result]:
    """The tables that a configuration of this benchmark fills."""
    return TABLES


def figures(own: Mapping[str, Any]) -> dict[str, Result]:
    """The figures that a configuration of this benchmark fills."""
    return FIGURES


def slices(own: Mapping[str, Any]) -> list[str]:
    """The slices: `<language>-<haystack>`, a language and a text each."""
    return [f"{lang}-{_short(haystack)}" for haystack, lang in _texts(own)]


def _texts(own: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The haystacks' corpora with their languages, in the order of the configuration.

    A further haystack has those of the languages that it has.
    """
    first, *further = own["haystacks"]
    pairs = [(first, lang) for lang in own["languages"]]
    return pairs + [
        (haystack, lang)
        for haystack in further
        for lang in own["languages"]
        if lang in CORPUS_LANGUAGES[haystack]
    ]


def _short(haystack: str) -> str:
    return haystack.replace("_", "-")


def settings(own: Mapping[str, Any], name: str, lengths: list[int]) -> dict[str, Any]:
    """All that the instances of a slice depend on, other than files and the tokenizer.

    `lengths` are the token budgets wanted by the models that use the tokenizer.
    """
    haystack, lang = next(
        (haystack, lang) for haystack, lang in _texts(own) if name == f"{lang}-{_short(haystack)}"
    )
    chosen = {
        "slice": name,
        "lang": lang,
        "haystack": haystack,
        "lengths": sorted(lengths),
        **{key: own[key] for key in ("source", "data", "tasks", "prompts", "absent", "examples")},
        **{key: own[key] for key in ("wording", "max_new_tokens", "seed")},
    }
    if own["source"] == "constructed":
        chosen |= {"budget": own["budget"], "depth_rule": own["depth_rule"]}
    return chosen


def cells(chosen: Mapping[str, Any]) -> Iterator[Cell]:
    """The cells of a slice at each length, in an order that does not depend on the configuration's.

    English has no translated prompt: it is the paper's.
    """
    prompts = [p for p in chosen["prompts"] if (p, chosen["lang"]) != ("translated", "en")]
    for prompt in sorted(prompts):
        for task in sorted(chosen["tasks"], key=lambda task: task["n"]):
            n = task["n"]
            kind = RETRIEVAL if n == 1 else REASONING
            for question in (q for q in QUESTIONS if q in task["questions"]):
                for depth in sorted(task["depths"]):
                    yield Cell(kind, n, question, depth, task.get("spread", SPREAD), prompt)
                if n in chosen["absent"]:
                    yield Cell(ABSENT, n, question, None, 0, prompt)


def chance(n_needles: int, task: str) -> float | None:
    """The accuracy of a guess among the needles that were read; None where there is nothing to guess."""
    return 1 / n_needles if task == REASONING else None


def corpora(chosen: Mapping[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """The tables that a slice reads: the text, its needles, and the released haystacks."""
    lang = chosen["lang"]
    read = {
        "needles": [(f"{chosen['data']}_needles", lang)],
        "haystack": [(chosen["haystack"], lang)],
    }
    if chosen["source"] == "released":
        read |= {f"released_{n}": [(_released(n), lang)] for n in _numbers(chosen)}
    return read


def _numbers(own: Mapping[str, Any]) -> list[int]:
    return sorted(task["n"] for task in own["tasks"])


def _released(n: int) -> str:
    return {1: "mlongrr_released_one", 3: "mlongrr_released_three"}[n]


def searches(chosen: Mapping[str, Any]) -> list[str]:
    """The languages in which a slice needs distractors: none."""
    return []


def documents(own: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The texts that the benchmark's prompts are cut from."""
    if own["source"] == "released":
        return [(_released(n), lang) for n in _numbers(own) for lang in own["languages"]]
    return _texts(own)


def scoring_settings(own: Mapping[str, Any]) -> dict[str, Any]:
    """What the scores depend on besides prompts and answers."""
    return {"unanswerable": own["unanswerable"]}


def result_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """What the tables and figures need to know of a run."""
    own, run = config["benchmarks"][NAME], config["run"]
    entries = {model: config["models"][model] for model in run["models"]}
    return {
        "models": run["models"],
        "published": {m: e["published"] for m, e in entries.items() if e["published"]},
        "decoding": {m: decoding(e) for m, e in entries.items()},
        "backends": {m: e["backend"] for m, e in entries.items()},
        "metric": own["metric"],
        "setup": {
            key: own[key]
            for key in ("source", "data", "budget", "wording", "depth_rule", "max_new_tokens")
        },
    }


def check(config: Mapping[str, Any]) -> None:
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


def _check_languages(own: Mapping[str, Any], where: str, theirs: list[str]) -> None:
    first = own["haystacks"][0]
    known = [*CORPUS_LANGUAGES[first], *(theirs if first == ARTICLES else [])]
    for lang in own["languages"]:
        if lang not in known:
            raise UserError(
                f"{where}.languages has {lang!r}, but {first} has {', '.join(known)}: take another "
                "haystack, or put a text into the folder of sources.mlongrr.folder."
            )


def _check_tasks(own: Mapping[str, Any], where: str) -> None:
    numbers = _numbers(own)
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


def _check_released(own: Mapping[str, Any], where: str) -> None:
    """Raise UserError where something is asked that the released files have not."""
    wanted = {
        "haystacks": ([ARTICLES], own["haystacks"]),
        "data": ([NAME], [own["data"]]),
        "budget": (["released"], [own["budget"]]),
        "examples": ([1], [own["examples"]]),
        "absent": ([], own["absent"]),
        "lengths": (RELEASED_LENGTHS, own["lengths"]),
        "tasks (n)": (tuple(RELEASED_DEPTHS), _numbers(own)),
        "languages": (CORPUS_LANGUAGES["mlongrr_released_one"], own["languages"]),
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


def _check_needles(own: Mapping[str, Any], folder: str | None) -> None:
    """Raise UserError where a language has no needle, a prompt is missing, or cities are too few."""
    root = Path(__file__).resolve().parents[5] / "resources"
    folders = [root / NAME, root / "sample" / NAME if own["data"] == "sample" else folder]
    files = [path for each in folders if each for path in sorted(Path(each).glob("*.csv"))]
    needles, prompts = (
        tables_of_needles.needles(files, own["wording"]),
        tables_of_needles.prompts(files),
    )
    for _, lang in _texts(own):
        if lang not in needles:
            raise UserError(
                f"benchmarks.{NAME}.languages has {lang!r}, which has no needle: there are those in "
                f"{', '.join(sorted(needles))}; add a row to needles.csv in the folder of "
                "sources.mlongrr.folder."
            )
        names = {english for english, _ in tables_of_needles.cities(files, lang)}
        if len(names) < max(_numbers(own)):
            raise UserError(
                f"benchmarks.{NAME}.tasks has {max(_numbers(own))} needles, but there are {len(names)} "
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
