"""M4LE's scores: every answer by the paper's metric, by the released scorer's, and by today's overlap."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from needlework.benchmarks.contract import Own
from needlework.benchmarks.m4le import bleu, careful, match, overlap, rouge
from needlework.benchmarks.m4le.data.tasks import Task, task_in
from needlework.models.accounts import UNANSWERED
from needlework.scoring.metrics.words import UNSPACED_RUN
from needlework.scoring.scores import Rating, score_rows, second

METRICS = ("paper", "released")
OVERLAP = ("rouge_lsum", "chrf")

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
    settings: Own,
) -> pa.Table:
    """Rows of scores for each row of `generations`: "paper", "released", of texts OVERLAP, else "careful".

    `instances` needs the column `accepted`. The table has the further column `bleu_statistics`
    (`m4le_bleu.Statistics.flat`) in rows of translations: BLEU is one of a whole cell, `value` only
    the answer's own. The released scorer sees the model's thoughts too, as it knows none. Raises
    UserError as `score_rows` does.
    """
    found: list[list[int] | None] = []
    classes = careful.classes(instances)

    def rate(row: Mapping[str, Any], text: str | None, translated: str | None) -> Rating:
        task, answer = task_in(row["task"], row["lang"]), text or ""
        failed = row["finish_reason"] in UNANSWERED
        raw = answer if failed else row["raw_text"] or ""
        if task.metric == "bleu":
            rated = []
            for text, metric in zip((answer, raw), METRICS, strict=True):
                pair = text.strip(), row["accepted"][0], task.answer_lang
                value = bleu.sentence(*pair)
                rated.append((value, _verdict(value, text), metric))
                found.append(bleu.statistics(*pair).flat())
        else:
            values = (paper(task, answer, row["accepted"]), released(task, raw, row["accepted"]))
            rated = [
                (value, _verdict(value, said), metric)
                for value, said, metric in zip(values, (answer, raw), METRICS, strict=True)
            ]
            found.extend([None] * len(METRICS))
        if task.metric in ("bleu", "rouge"):
            for metric, measure in zip(OVERLAP, (overlap.rouge_lsum, overlap.chrf), strict=True):
                value = 0.0 if failed else _best(task, measure, answer, row["accepted"])
                rated.append((value, _verdict(value, answer), metric))
            found.extend([None] * len(OVERLAP))
        read = careful.verdict(task, answer, row["accepted"], classes.get(row["task"], ()))
        if read is not None:
            rated.append(second(read, rated[0][0]))
            found.append(None)
        return rated

    scores = score_rows(instances, generations, rate, model=model)
    return scores.append_column("bleu_statistics", pa.array(found, pa.list_(pa.int32())))


def _verdict(value: float, answer: str) -> str:
    if not answer.strip():
        return "no_answer"
    return "right" if value == 1 else "partial" if value else "wrong"


def paper(task: Task, answer: str, accepted: Sequence[str]) -> float:
    """The paper's metric in [0, 1]: a gold answer, in its own words, scores 1.

    The formulas are the released scorer's. A gold answer is normalised as the answer is, a mark
    that stands in a gold answer cuts none, DuReader has ROUGE-L (Table 2), and News2016 compares
    titles. An equal class may end with a full stop, or be followed by a line end and more text.
    """
    if task.metric == "f1":
        texts = [answer, accepted[0]]
        if task.answer_lang not in _LISTS:
            texts = [text.translate(_MARKS) for text in texts]
        stop, comma = _lists(task)
        return match.f1(*(match.id_set(text, stop, comma) for text in texts))
    if task.name == "news2016":
        answer, accepted = _title(answer), [_title(text) for text in accepted]
    cuts = task.cuts or (("\n",) if task.metric == "match" else ())
    if task.metric == "match":
        golds = [match.cut(text, cuts).rstrip(".。") for text in accepted]
        return float(match.equal(match.cut(answer.strip(), cuts).rstrip(".。"), golds))
    return _best(
        task, {"accuracy": _accurate, "rouge": _recall(task)}[task.metric], answer, accepted
    )


def _best(
    task: Task, measure: Callable[[str, str], float], answer: str, accepted: Sequence[str]
) -> float:
    """The best value by any gold answer; the answer is cut at the task's marks that are not in it."""
    return max(
        measure(match.cut(answer, [m for m in task.cuts if m not in gold.strip()]), gold.strip())
        for gold in accepted
        if gold.strip()
    )


def released(task: Task, answer: str, accepted: Sequence[str]) -> float:
    """What evaluation.py of KwanWaiChung/M4LE at 47c2af9 gives, in [0, 1], faults included.

    Among them: the gold of online-shopping keeps its full stop, so its last id is never found; a
    DuReader gold of several sentences cannot be in an answer cut at the first; a News2016 answer
    loses what stands before its title, the gold does not. (A row that failed is dropped there.)
    """
    if task.released == "f1":
        stop, comma = _lists(task)
        gold = match.id_set(accepted[0], stop if task.name in _STOPPED_GOLDS else None, comma)
        return match.f1(match.id_set(answer, stop, comma), gold)
    if task.name == "news2016":
        answer = _title(answer)
    answer = match.cut(answer, task.cuts)
    if task.released == "accuracy":
        return float(match.accurate(answer, accepted))
    if task.released == "match":
        counted = task.task_type == "CLS+CNT"
        golds = [match.cut(text, task.cuts) if counted else text for text in accepted]
        return float(match.equal(answer, golds))
    try:
        return max(_rouge(task, gold)(answer, gold) for gold in accepted if gold)
    except ValueError:
        return 0.0


def _accurate(answer: str, gold: str) -> float:
    return float(match.accurate(answer, [gold]))


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
    return rouge.recall_zh if task.answer_lang == "zh" or unspaced else rouge.recall_en


def _title(text: str) -> str:
    """What stands between the first two quotation marks, or all."""
    found = re.search(r'"([^"]*)', text)
    return found[1].strip() if found else text
