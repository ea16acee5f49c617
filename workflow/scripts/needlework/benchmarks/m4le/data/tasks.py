"""M4LE's 39 task files as data, and the frames of their prompts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from needlework import safe_yaml
from needlework.errors import UserError

# M4LE's 39 task files (paper, Table 2; the cuts are those of the released scorer), as data.
#
# Beyond the paper: some of these tasks in further languages that their source data sets have.

BUCKETS = (1000, 2000, 4000, 6000, 8000, 16000, 32000, 64000, 128000)
# The first release had 12000 and 24000 too, and ended at 32000.
BUCKETS_2023 = (1000, 2000, 4000, 6000, 8000, 12000, 16000, 24000, 32000)
PAPER_BUCKETS = (1000, 2000, 4000, 6000, 8000)

ABILITIES = (
    "explicit_single",
    "semantic_single",
    "explicit_multiple",
    "semantic_multiple",
    "global",
)


class Task(NamedTuple):
    """A task file of the hub; `_TABLE` has a line for each of the paper."""

    name: str
    # Its folder on the hub.
    folder: str
    ability: str
    task_type: str
    # The paper's language ("en", "zh" or "en,zh"; "en,de" in a further language), and that of the answers.
    lang: str
    answer_lang: str
    domain: str
    # How the file counts lengths: "words" between white space, "characters", "mixed" (the words of English
    # and the characters of Chinese together), or "any" (words of any script).
    unit: str
    # The paper's metric: "accuracy" (a gold answer is a part of the answer), "match" (they are equal), "f1"
    # (of sets of ids), "rouge" (ROUGE-L recall) or "bleu".
    metric: str
    # An answer is cut before the first occurrence of each of these, one after the other.
    cuts: tuple[str, ...]
    # The name of the data set in the paper.
    source: str
    # The released scorer's metric.
    released: str
    # The paper's task whose source, rules and metric this one has; itself but in a further language.
    follows: str
    # The table of the paper's appendix that has its numbers.
    table: str
    # How its documents are drawn (`families.FAMILIES`), and which texts of the embedded sample it gets
    # (`rows.READERS`; "": none).
    draws: str
    sample: str

    @property
    def second(self) -> str:
        """The language beside English; "" if the task has one language."""
        return self.lang.partition(",")[2]

    @property
    def frame(self) -> str:
        """The name of the task's wording: of the paper's task, or of its further languages."""
        if self.name == self.follows:
            return self.name
        return self.follows.replace("zh", "xx") if "zh" in self.follows else f"{self.follows}-xx"

    @property
    def slug(self) -> str:
        """The name as a part of paths and slices: small letters and digits only."""
        return re.sub(r"[^a-z0-9]", "", self.name)

    @property
    def archived(self) -> tuple[str, ...]:
        """The possible names of the task's file in the first release: its own, the released scorer's."""
        return self.name, PRINTED.get(self.name, f"{self.name}_{self.task_type.lower()}")

    @property
    def file(self) -> str:
        """The path of its file on the hub."""
        return f"{self.folder}/{self.name}.jsonl"


# What the paper and the released scorer call a task, where that is not its file.
PRINTED = {"clts": "clts+"}
_FOLDERS = {
    **{"CLS": "classification", "NLI": "nli", "QA": "qa", "RET": "topic_retrieval"},
    **{"SUM": "summarization", "TRAN": "translation"},
}
_UNITS = {"w": "words", "c": "characters", "m": "mixed"}
_ABILITIES = dict(zip(("es", "ss", "em", "sm", "gl"), ABILITIES, strict=True))

# name | ability | type | lang | answer's | domain | unit | metric | cuts | data set | table | draws | sample
# | the released scorer's metric, where that is not the paper's
_TABLE = r"""
mnds-news_explicit-single | es | CLS+RET | en | en | news | w | match | | MNDS News | 32 | single | news |
thucnews_explicit-single | es | CLS+RET | zh | zh | news | c | match | | THUCNews | 31 | single | news |
newsqa | es | QA+RET | en | en | news | w | accuracy | \n . | NewsQA | 40 | single | entries |
c3 | es | QA+RET | zh | zh | textbook | c | accuracy | \n 。 | C3 | 39 | single | choices |
wow | es | RET | en | en | wiki | w | accuracy | , \n | WoW | 9 | topics | entries |
drcd_explicit-single | es | RET | zh | zh | wiki | c | accuracy | ， \n | DRCD | 10 | topics | entries |
cnnnews | es | SUM+RET | en | en | news | w | rouge | \n | CNNNews | 36 | single | news |
cepsum | es | SUM+RET | zh | zh | e-commerce | c | rouge | \n | CEPSUM | 35 | single | |
lcsts | es | SUM+RET | zh | zh | news | c | rouge | \n | LCSTS | 38 | single | news |
ncls | es | SUM+RET | en,zh | zh | news | m | rouge | \n | NCLS | 18 | single | |
mnds-news_explicit-multiple | em | CLS+RET | en | en | news | w | f1 | | MNDS News | 24 | class | news |
thucnews_explicit-multiple | em | CLS+RET | zh | zh | news | c | f1 | | THUCNews | 29 | class | news |
marc | em | CLS+RET | en,zh | en | e-commerce | m | f1 | | MARC | 26 | class | reviews |
online-shopping | em | CLS+RET | zh | zh | e-commerce | c | f1 | | Online Shopping | 28 | class | reviews |
wikitext-103 | ss | NLI+RET | en | en | wiki | w | match | . | WikiText-103 | 22 | continuation | entries |
wiki2019zh | ss | NLI+RET | zh | zh | wiki | c | match | 。 | Wiki2019zh | 23 | continuation | entries |
duorc | ss | QA | en | en | movie | w | accuracy | \n . | DuoRC | 41 | single | |
nq-open | ss | QA | en | en | wiki | w | accuracy | \n . | NQ-Open | 7 | retrieved | passages |
dureader | ss | QA | zh | zh | web | c | rouge | \n 。 | DuReader | 27 | natural | | accuracy
drcd_semantic-single | ss | QA | zh | zh | wiki | c | accuracy | \n 。 | DRCD | 8 | single | passages |
wikihow | ss | SUM+RET | en | en | wikihow | w | rouge | \n | WikiHow | 16 | single | |
news2016 | ss | SUM+RET | zh | zh | news | c | rouge | \n | News2016 | 37 | single | |
tedtalks-en2zh | ss | TRAN+RET | en,zh | zh | talks | m | bleu | | TedTalks | 44 | single | talks |
tedtalks-zh2en | ss | TRAN+RET | en,zh | en | talks | m | bleu | | TedTalks | 45 | single | talks |
mnds-news_semantic-multiple | sm | CLS+CNT | en | en | news | w | match | . | MNDS News | 25 | count | news |
thucnews_semantic-multiple | sm | CLS+CNT | zh | zh | news | c | match | 。 | THUCNews | 30 | count | news |
hotpotqa | sm | QA | en | en | wiki | w | accuracy | \n . | HotpotQA | 13 | natural | hops |
bigpatent_global_cls | gl | CLS | en | en | patent | w | accuracy | : | BIGPATENT | 19 | natural | long |
triviaqa | gl | QA | en | en | web | w | accuracy | \n . | TriviaQA | 12 | natural | asked |
arxiv | gl | SUM | en | en | academic | w | rouge | \n | Arxiv | 14 | natural | long |
bigpatent_global_sum | gl | SUM | en | en | patent | w | rouge | \n | BIGPATENT | 15 | natural | |
pubmed | gl | SUM | en | en | medical | w | rouge | \n | Pubmed | 17 | natural | |
booksum | gl | SUM | en | en | book | w | rouge | \n | Booksum | 11 | gathered | |
cnewsum | gl | SUM | zh | zh | news | c | rouge | \n 新闻 | CNewsum | 33 | natural | long |
clts | gl | SUM | zh | zh | news | c | rouge | \n 新闻 | CLTS+ | 34 | natural | |
open-subtitles-en2zh | gl | TRAN | en,zh | zh | movie | m | bleu | | OpenSubtitles | 21 | gathered | lines |
open-subtitles-zh2en | gl | TRAN | en,zh | en | movie | m | bleu | | OpenSubtitles | 20 | gathered | lines |
news-commentary-en2zh | gl | TRAN | en,zh | zh | news | m | bleu | | News Commentary | 42 | single | |
news-commentary-zh2en | gl | TRAN | en,zh | en | news | m | bleu | | News Commentary | 43 | single | |
"""


def _task(line: str) -> Task:
    cells = [cell.strip() for cell in line.split("|")]
    name, ability, kind, lang, answer, domain, unit, metric, cuts, *drawn, released = cells
    marks = tuple(cut.replace(r"\n", "\n") for cut in cuts.split())
    source, table, draws, sample = drawn
    return Task(
        *(name, _FOLDERS[kind.split("+")[0]], _ABILITIES[ability], kind, lang, answer, domain),
        *(_UNITS[unit], metric, marks, source, released or metric, name, f"table{table}"),
        *(draws, sample),
    )


def _further() -> Iterator[Task]:
    for name, languages in _LANGUAGES.items():
        task = TASKS[name]
        for lang in languages:
            own = f"{name}-{lang}" if "zh" not in name else name.replace("zh", lang)
            answer = lang if task.answer_lang == "zh" else task.answer_lang
            yield task._replace(name=own, lang=f"en,{lang}", answer_lang=answer, unit="words")


# Languages with spaces between words that the publishers of the sources have.
_TRANSLATED = ("ar", "cs", "de", "es", "fr", "hi", "id", "it", "nl", "pt", "ru")
_LANGUAGES = {
    "marc": ("de", "es", "fr"),
    **{
        f"{source}-{way}": _TRANSLATED
        for source in ("tedtalks", "open-subtitles", "news-commentary")
        for way in ("en2zh", "zh2en")
    },
}

TASKS = {task.name: task for task in map(_task, _TABLE.strip().splitlines())}
# The tasks for which the embedded sample has texts.
SAMPLED = tuple(name for name, task in TASKS.items() if task.sample)
# All that `source: constructed` can build: the paper's tasks, then those in further languages.
CONSTRUCTED = {**TASKS, **{task.name: task for task in _further()}}
SLUGS = {task.slug: task for task in CONSTRUCTED.values()}


def task_in(name: str, lang: str) -> Task:
    """A task, or its variant for a user's records in another language."""
    task = CONSTRUCTED[name]
    if lang == task.lang:
        return task
    return task._replace(lang=lang, answer_lang=lang, unit="any")


# The frame of a prompt: the wording around its items, filled in or found again in a finished text.


class Item(NamedTuple):
    """A document of a prompt; `id` is its name in the prompt, or ""."""

    text: str
    title: str = ""
    id: str = ""


class Piece(NamedTuple):
    """Characters [start, end) of a prompt, and their role (`spans.ROLES`)."""

    role: str
    start: int
    end: int


class Cut(NamedTuple):
    """A prompt in its pieces."""

    instruction: str
    example_end: int
    # The starts of its items.
    items: list[int]
    items_end: int
    question: int
    # The items' ids.
    ids: list[str]
    values: dict[str, str]


class Frame(NamedTuple):
    """The wording of a task's prompts (resources/m4le/frames.yaml says what each part is)."""

    instruction: str
    item: str
    end: str
    ids: str
    example: str = ""
    opening: str = ""
    join: str | None = None
    late: str = ""
    other_end: str = ""
    answer: str = "{answer}"
    id_join: str = ""


# The texts of a frame in their order, and those that a user's wording may leave out.
TEXTS = ("instruction", "example", "opening", "item", "late", "end", "answer")
OPTIONAL = ("example", "late")


class Rendered(NamedTuple):
    """A prompt's text, and its pieces in order, which join to it."""

    text: str
    pieces: list[Piece]


def load_frames(path: str | Path) -> dict[str, Frame]:
    """The frames of all tasks, by name. Raises UserError if the file holds anything else."""
    import yaml  # Planning reads this module with the standard library alone.

    try:
        entries = safe_yaml.read(path)
        return {name: Frame(**entry) for name, entry in entries.items()}
    except (OSError, yaml.YAMLError, TypeError, AttributeError) as error:
        raise UserError(f"{path} holds no frames of prompts ({error}): restore the file.") from None


def texts_of(frame: Frame) -> dict[str, tuple[str, ...]]:
    """The texts of a frame that contain words, so that a user may replace them; each with its placeholders.

    The example is included even if the frame has none.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name in TEXTS:
        literal = re.sub(r"\{\w+\}", "", text := getattr(frame, name))
        if name == "example":
            found[name] = ()
        elif re.search(r"\w", literal):
            found[name] = tuple(re.findall(r"\{(\w+)\}", text))
    return found


def worded(frame: Frame, texts: Mapping[str, str]) -> Frame:
    """The frame with a user's texts in place of all texts of `texts_of`. Missing texts are left out.

    The frame keeps its white space and all parts without words: ids, and the separators of items.
    """
    own = {}
    for name in texts_of(frame):
        text, paper = texts.get(name, ""), getattr(frame, name) or "\n\n"
        before = paper[: len(paper) - len(paper.lstrip())] if paper.strip() else ""
        own[name] = text and before + text + paper[len(paper.rstrip()) :]
    return frame._replace(**own)


def render(
    frame: Frame, items: Sequence[Item], values: Mapping[str, str], needles: Collection[int]
) -> Rendered:
    """The prompt of `items`. The items at the indices `needles` are needles, the others distractors.

    Without needles all items are haystack. `values` fill the frame's placeholders beside the items.
    """
    others = "distractor" if needles else "haystack"
    parts = [("instruction", fill(frame.instruction, values) + "\n")]
    parts.append(("example", fill(frame.example, values)))
    parts.append(("question", fill(frame.opening, values)))
    for place, item in enumerate(items):
        before = frame.join if place else ""
        text = (before or "") + fill(frame.item, item._asdict())
        parts.append(("needle" if place in needles else others, text))
    parts.append(("example", fill(frame.late, values)))
    parts.append(("question", fill(frame.end, values)))
    pieces, end = [], 0
    for role, text in parts:
        if text:
            pieces.append(Piece(role, end, end + len(text)))
            end += len(text)
    return Rendered("".join(text for _, text in parts), pieces)


def fill(template: str, values: Mapping[str, str]) -> str:
    """The template with its `{placeholders}` replaced once; braces inside a value are not replaced."""
    return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], template)


def cut(frame: Frame, instruction: str, text: str) -> Cut | None:
    """The parts of the frame in an `instruction` and the `text` after it; None if the frame is not found.

    All offsets refer to `text`.
    """
    if not _pattern(frame.instruction).fullmatch(instruction):
        return None
    head = _pattern(frame.example).match(text)
    if head is None:
        return None
    found = None
    for template in filter(None, (frame.late + frame.end, frame.other_end)):
        found = found or _last(template, text, head.end())
    if found is None:
        return None
    end, values = found
    start = head.end()
    if frame.opening:
        # A query may hold line ends, so the opening ends where the first item begins.
        opened = _pattern(frame.opening + _prefix(frame)).match(text, start, end)
        if opened is None:
            return None
        values |= {k: v for k, v in opened.groupdict().items() if k != "id"}
        closing = re.compile(_regex(_prefix(frame)) + r"\Z")
        inner = closing.search(text, start, opened.end())
        # The shortest opening that is followed by an item.
        start = opened.start("id") if inner is None else inner.start()
    ids, starts = _items(frame, text, start, end)
    if not starts or starts[0] != start:
        return None
    late = _pattern(frame.late).match(text, end) if frame.late else None
    question = late.end() if late else end
    return Cut(instruction, head.end(), starts, end, question, ids, values)


def pieces(frame: Frame, found: Cut, length: int, needles: Collection[int]) -> list[Piece]:
    """The pieces of `instruction + "\\n" + text` as `render` gives them; `length` is that of the text."""
    shift = len(found.instruction) + 1
    others = "distractor" if needles else "haystack"
    edges = [("instruction", -shift), ("example", 0), ("question", found.example_end)]
    for place, start in enumerate(found.items):
        # What parts two items belongs to the second.
        before = len(frame.join or "") if place else 0
        edges.append(("needle" if place in needles else others, start - before))
    edges += [("example", found.items_end), ("question", found.question), ("", length)]
    return [
        Piece(role, start + shift, end + shift)
        for (role, start), (_, end) in pairwise(edges)
        if end > start
    ]


def _last(template: str, text: str, start: int) -> tuple[int, dict[str, str]] | None:
    """Where the template's last occurrence begins that ends the text, and its values."""
    literal = re.split(r"\{\w+\}", template, maxsplit=1)[0]
    pattern = _pattern(template)
    place = text.rfind(literal)
    while place >= start:
        if found := pattern.fullmatch(text, place):
            return place, found.groupdict()
        place = text.rfind(literal, 0, place + len(literal) - 1) if place else -1
    return None


def _items(frame: Frame, text: str, start: int, end: int) -> tuple[list[str], list[int]]:
    """The ids of the items in text[start:end], and where they begin."""
    prefix = _prefix(frame)
    if frame.join is None:
        return ([""], [start]) if text.startswith(prefix, start) else ([], [])
    if frame.ids == "number":
        # Items called 1, 2, ...: each is looked for behind the one before it.
        starts: list[int] = []
        place = start if text.startswith(fill(prefix, {"id": "1"}), start) else -1
        while 0 <= place < end:
            starts.append(place)
            sought = frame.join + fill(prefix, {"id": str(len(starts) + 1)})
            place = text.find(sought, place, end)
            place += len(frame.join) if place >= 0 else 0
        return [str(number) for number in range(1, len(starts) + 1)], starts
    pattern = re.compile(f"(?:^|(?<={re.escape(frame.join)}))" + _regex(prefix))
    found = [m for m in pattern.finditer(text, start, end) if m.start() >= start]
    # `^` is the beginning of the whole text; the first item stands behind the example.
    first = re.compile(_regex(prefix)).match(text, start, end)
    if first and (not found or found[0].start() != start):
        found.insert(0, first)
    return [m.groupdict().get("id") or "" for m in found], [m.start() for m in found]


def _prefix(frame: Frame) -> str:
    """The beginning of an item: up to its text or title, the title too where it is the item's name."""
    until = r"\{text\}" if frame.ids == "title" else r"\{(?:title|text)\}"
    return re.split(until, frame.item, maxsplit=1)[0]


# What a placeholder stands for; any other for any text.
_GROUPS = {"id": "[0-9A-F]{6}", "n": r"\d+", "next": r"\d+", "title": r"[^\n]*?"}


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(_regex(template), re.DOTALL)


def _regex(template: str) -> str:
    seen: set[str] = set()

    def parts() -> Iterator[str]:
        for place, part in enumerate(re.split(r"\{(\w+)\}", template)):
            if place % 2 == 0:
                yield re.escape(part)
            elif part in seen:
                yield f"(?P={part})"
            else:
                seen.add(part)
                named = part.startswith("example_") or part == "last"
                yield f"(?P<{part}>{_GROUPS.get('id' if named else part, '.*?')})"

    return "".join(parts())
