"""M4LE's scores: the paper's metric, the released scorer's, ROUGE-Lsum and chrF, and the second scorer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from needlework.answer_states import UNANSWERED
from needlework.benchmarks.m4le import measures
from needlework.benchmarks.m4le.data.tasks import CONSTRUCTED, Task, task_in
from needlework.benchmarks.m4le.metrics import METRICS
from needlework.scoring.careful.phrases import of_text
from needlework.scoring.careful.statements import Statement
from needlework.scoring.careful.verdicts import (
    Candidate,
    Verdict,
    chosen,
    of_names,
    of_numbers,
    of_words,
    tagged,
)
from needlework.scoring.careful.words import read
from needlework.scoring.metric import CAREFUL
from needlework.scoring.metrics import UNSPACED_RUN
from needlework.scoring.scores import Rating, score_rows, second

if TYPE_CHECKING:
    from needlework.benchmarks.m4le.settings import M4le

# The second scorer's verdicts on M4LE's answers; a text without one right answer has none.

# An article's id: six capital letters or digits.
_ID = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Z]{6}|(?=[A-Za-z]*[0-9])[A-Za-z0-9]{6})(?![A-Za-z0-9])", re.ASCII
)
_OPTION = re.compile(r"([A-H])\s*[.、．:：)]\s*(.+)", re.DOTALL)
_LETTER = re.compile(r"(?<![A-Za-z])[A-H](?![A-Za-z'])")
_CHOSEN = re.compile(r"(?:选|選|答案|answer)[^A-H\n]{0,10}([A-H])(?![A-Za-z])")
_STOPS = " .。\n"
MOST_CLASSES = 100
# Types of tasks whose answer may be a count.
_COUNTED = ("CLS", "CLS+CNT")


def task_verdict(
    task: Task, text: str, accepted: Sequence[str], classes: Sequence[str] = ()
) -> Verdict | None:
    """1.0 if an answer to a task is right, and the verdict. None for tasks without a single right answer.

    `classes` are all answers of a classification.
    """
    if task.metric in ("rouge", "bleu") or task.released == "rouge":
        return None
    langs = [task.answer_lang]
    golds = [gold.strip(_STOPS) for gold in accepted]
    if task.metric == "f1":
        return ids_verdict(text, golds[0], langs if task.unit == "any" else ["en"])
    if classes and task.metric == "match" and golds[0] in classes:
        return of_names(text, golds, [[other] for other in classes if other not in golds], langs)
    if task.task_type in _COUNTED and golds[0].isdecimal():
        return of_numbers(text, [int(golds[0])], langs, digits=1)
    if option := _OPTION.fullmatch(golds[0]):
        return _choice(text, option[1], option[2], langs)
    return of_words(text, golds, langs)


def _choice(text: str, letter: str, option: str, langs: Sequence[str]) -> Verdict:
    """1.0 if an answer chooses an option by its letter, or by its text alone."""
    said = tagged(text)
    letters = _CHOSEN.findall(said)[-1:] or _LETTER.findall(said)
    if letters:
        right = set(letters) == {letter}
        return (
            (1.0, "right") if right else (None, "several") if letter in letters else (0.0, "other")
        )
    return of_words(text, [option], langs)


def ids_verdict(text: str, gold: str, langs: Sequence[str] = ("en",)) -> Verdict:
    """1.0 if an answer names exactly the ids of `gold`, and the verdict.

    `langs` are the languages whose phrases are read.
    """
    wanted = set(_ID.findall(gold)) or set(re.findall(r"\w+", gold))
    named: list[str] = []

    def marked(match: re.Match[str]) -> str:
        """A word that replaces an id, since an id's digits could be read as groups of a number."""
        named.append(match.group().upper())
        return f" ID{len(named) - 1}X "

    said = _ID.sub(marked, unicodedata.normalize("NFKC", tagged(text)))
    words = read(said)
    statement = Statement(words, of_text(said, langs, words))
    places = {f"id{i}x": name for i, name in enumerate(named)}
    candidates = [
        Candidate(places[word], i, i + 1) for i, word in enumerate(words.words) if word in places
    ]
    found = chosen(statement, candidates, compared=False, single=False)
    if candidates and any(c.end == candidates[0].start for c in statement.of("instead")):
        return 0.0, "denied"
    if found == wanted:
        return 1.0, "right"
    if not found:
        return 0.0, "other" if text.strip() else "empty"
    if wanted < found:
        return None, "several"
    return 0.0, "incomplete" if found < wanted else "other"


def classes_of(instances: pa.Table) -> dict[str, tuple[str, ...]]:
    """The classes of each classification task: the distinct gold answers of its instances.

    A task with more than `MOST_CLASSES` gold answers has no classes, since each answer is compared with every
    class.
    """
    found: dict[str, set[str]] = {}
    for name, accepted in zip(
        instances["task"].to_pylist(), instances["accepted"].to_pylist(), strict=True
    ):
        task = CONSTRUCTED[name]
        if task.metric == "match" and task.task_type == "CLS+RET":
            found.setdefault(name, set()).add(accepted[0].strip(_STOPS))
    return {name: tuple(sorted(own)) for name, own in found.items() if len(own) <= MOST_CLASSES}


# The measures of tasks whose answer is a text without one right form.
_TEXTS = ("bleu", "rouge")
# The metrics whose value of a translation is BLEU.
BLEU = ("paper", "released")

# What parts and ends a list of ids, by the language in which the scorer reads it, and what does in others.
_LISTS = {"en": (".", ","), "zh": ("。", "，")}
_MARKS = str.maketrans("।۔。،，、", "...,,,")
# The released scorer reads these golds up to their full stop, or all of them.
_STOPPED_GOLDS = {"marc"}


def score(
    instances: pa.Table,
    generations: pa.Table,
    translations: None = None,
    *,
    model: str,
    settings: M4le,
) -> pa.Table:
    """Rows of scores: for each row of `generations`, one row per metric of METRICS that rates its task.

    `instances` needs the column `accepted`. For translations, `value` is the BLEU of one answer. BLEU is
    computed per cell from the further column `bleu_statistics` (`measures.Statistics.flat`).

    The released scorer reads the model's reasoning too, since it does not remove it. Raises UserError as
    `score_rows` does.
    """
    found: list[list[int] | None] = []
    classes = classes_of(instances)

    def rate(row: Mapping[str, Any], text: str | None, translated: str | None) -> Rating:
        task, answer, accepted = task_in(row["task"], row["lang"]), text or "", row["accepted"]
        raw = answer if row["finish_reason"] in UNANSWERED else row["raw_text"] or ""
        rated: Rating = []
        for name, metric in METRICS.items():
            said = raw if metric.raw else answer
            if name == CAREFUL:
                read = task_verdict(task, said, accepted, classes.get(row["task"], ()))
                rated += [] if read is None else [second(read, rated[0][0])]
            elif (value := globals()[metric.function](task, said, accepted)) is not None:
                rated.append((value, _verdict(value, said), name))
        for *_, name in rated:
            said = raw if METRICS[name].raw else answer
            pair = said.strip(), accepted[0], task.answer_lang
            bleu = task.metric == "bleu" and name in BLEU
            found.append(measures.statistics(*pair).flat() if bleu else None)
        return rated

    scores = score_rows(instances, generations, rate, model=model)
    return scores.append_column("bleu_statistics", pa.array(found, pa.list_(pa.int32())))


def _verdict(value: float, answer: str) -> str:
    if not answer.strip():
        return "no_answer"
    return "right" if value == 1 else "partial" if value else "wrong"


def paper(task: Task, answer: str, accepted: Sequence[str]) -> float:
    """The paper's metric in [0, 1], corrected so that every gold answer scores 1.

    The formulas are the released scorer's, with these changes. A gold answer is normalised as the answer is.
    An answer is not cut at a mark that stands in a gold answer. DuReader has ROUGE-L (Table 2). In News2016,
    titles are compared. After a right class, a full stop, or a line end and more text, may follow. The value
    of a translation is the BLEU of the answer alone.
    """
    if task.metric == "bleu":
        return measures.sentence(answer.strip(), accepted[0], task.answer_lang)
    if task.metric == "f1":
        texts = [answer, accepted[0]]
        if task.answer_lang not in _LISTS:
            texts = [text.translate(_MARKS) for text in texts]
        stop, comma = _lists(task)
        return measures.f1(*(measures.id_set(text, stop, comma) for text in texts))
    if task.name == "news2016":
        answer, accepted = _title(answer), [_title(text) for text in accepted]
    cuts = task.cuts or (("\n",) if task.metric == "match" else ())
    if task.metric == "match":
        golds = [measures.cut(text, cuts).rstrip(".。") for text in accepted]
        return float(measures.equal(measures.cut(answer.strip(), cuts).rstrip(".。"), golds))
    return _best(
        task, {"accuracy": _accurate, "rouge": _recall(task)}[task.metric], answer, accepted
    )


def _best(
    task: Task, measure: Callable[[str, str], float], answer: str, accepted: Sequence[str]
) -> float:
    """The best value by any gold answer; the answer is cut at the task's marks that are not in it."""
    return max(
        measure(measures.cut(answer, [m for m in task.cuts if m not in gold.strip()]), gold.strip())
        for gold in accepted
        if gold.strip()
    )


def released(task: Task, answer: str, accepted: Sequence[str]) -> float:
    """The value of evaluation.py of KwanWaiChung/M4LE at 47c2af9, in [0, 1], faults included.

    Three of the faults are these. The gold of online-shopping keeps its full stop, so its last id is never
    found. A DuReader gold of several sentences cannot be in an answer, which is cut at the first sentence. A
    News2016 answer loses the text before its title, but the gold does not. (evaluation.py drops failed rows.)
    """
    if task.metric == "bleu":
        return measures.sentence(answer.strip(), accepted[0], task.answer_lang)
    if task.released == "f1":
        stop, comma = _lists(task)
        gold = measures.id_set(accepted[0], stop if task.name in _STOPPED_GOLDS else None, comma)
        return measures.f1(measures.id_set(answer, stop, comma), gold)
    if task.name == "news2016":
        answer = _title(answer)
    answer = measures.cut(answer, task.cuts)
    if task.released == "accuracy":
        return float(measures.accurate(answer, accepted))
    if task.released == "match":
        counted = task.task_type == "CLS+CNT"
        golds = [measures.cut(text, task.cuts) if counted else text for text in accepted]
        return float(measures.equal(answer, golds))
    try:
        return max(_rouge(task, gold)(answer, gold) for gold in accepted if gold)
    except ValueError:
        return 0.0


def rouge_lsum(task: Task, answer: str, accepted: Sequence[str]) -> float | None:
    """ROUGE-Lsum in [0, 1]; None for a task with one right answer."""
    return _best(task, measures.rouge_lsum, answer, accepted) if task.metric in _TEXTS else None


def chrf(task: Task, answer: str, accepted: Sequence[str]) -> float | None:
    """chrF in [0, 1]; None if the task has only one right answer."""
    return _best(task, measures.chrf, answer, accepted) if task.metric in _TEXTS else None


def _accurate(answer: str, gold: str) -> float:
    return float(measures.accurate(answer, [gold]))


def _recall(task: Task) -> Callable[[str, str], float]:
    def measure(answer: str, gold: str) -> float:
        try:
            return _rouge(task, gold)(answer, gold)
        except ValueError:
            return 0.0

    return measure


def _lists(task: Task) -> tuple[str, str]:
    return _LISTS.get(task.answer_lang, _LISTS["en"])


def _rouge(task: Task, gold: str) -> Callable[[str, str], float]:
    """The Chinese recall of a language that is written without spaces, too."""
    unspaced = task.unit == "any" and UNSPACED_RUN.search(gold)
    return measures.recall_zh if task.answer_lang == "zh" or unspaced else measures.recall_en


def _title(text: str) -> str:
    """What stands between the first two quotation marks, or all."""
    found = re.search(r'"([^"]*)', text)
    return found[1].strip() if found else text
