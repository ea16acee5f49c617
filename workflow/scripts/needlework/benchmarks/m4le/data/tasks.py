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
    """A task file of the hub.

    `lang` is the paper's language ("en", "zh" or "en,zh"), `answer_lang` the language of the answers. A task
    in a further language ("en,de") has the source, the rules and the metric of the task `follows`. `unit` is
    how the file counts lengths: "words" between white space, "characters", "mixed" (the words of English and
    the characters of Chinese together), or "any" (words of any script). `metric` is the paper's metric:
    "accuracy" (a gold answer is a part of the answer), "match" (they are equal), "f1" (of sets of ids),
    "rouge" (ROUGE-L recall) or "bleu"; `released` is the released scorer's. An answer is cut before the first
    occurrence of each of `cuts`, one after the other. `source` is the data set's name in the paper.
    """

    name: str
    folder: str
    ability: str
    task_type: str
    lang: str
    answer_lang: str
    domain: str
    unit: str
    metric: str
    cuts: tuple[str, ...]
    source: str
    released: str
    follows: str

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
        """The names that the task's file may have in the first release: its own, or the released scorer's."""
        return self.name, PRINTED.get(self.name, f"{self.name}_{self.task_type.lower()}")

    @property
    def file(self) -> str:
        """The path of its file on the hub."""
        return f"{self.folder}/{self.name}.jsonl"


# What the paper and the released scorer call a task, where that is not its file.
PRINTED = {"clts": "clts+"}
_UNITS = {"w": "words", "c": "characters", "m": "mixed"}
_ABILITIES = dict(zip(("es", "ss", "em", "sm", "gl"), ABILITIES, strict=True))

# folder/name | ability | type | lang | answer's | domain | unit | metric | cuts | data set | released metric
_TABLE = r"""
classification/mnds-news_explicit-single | es | CLS+RET | en | en | news | w | match | | MNDS News |
classification/thucnews_explicit-single | es | CLS+RET | zh | zh | news | c | match | | THUCNews |
qa/newsqa | es | QA+RET | en | en | news | w | accuracy | \n . | NewsQA |
qa/c3 | es | QA+RET | zh | zh | textbook | c | accuracy | \n 。 | C3 |
topic_retrieval/wow | es | RET | en | en | wiki | w | accuracy | , \n | WoW |
topic_retrieval/drcd_explicit-single | es | RET | zh | zh | wiki | c | accuracy | ， \n | DRCD |
summarization/cnnnews | es | SUM+RET | en | en | news | w | rouge | \n | CNNNews |
summarization/cepsum | es | SUM+RET | zh | zh | e-commerce | c | rouge | \n | CEPSUM |
summarization/lcsts | es | SUM+RET | zh | zh | news | c | rouge | \n | LCSTS |
summarization/ncls | es | SUM+RET | en,zh | zh | news | m | rouge | \n | NCLS |
classification/mnds-news_explicit-multiple | em | CLS+RET | en | en | news | w | f1 | | MNDS News |
classification/thucnews_explicit-multiple | em | CLS+RET | zh | zh | news | c | f1 | | THUCNews |
classification/marc | em | CLS+RET | en,zh | en | e-commerce | m | f1 | | MARC |
classification/online-shopping | em | CLS+RET | zh | zh | e-commerce | c | f1 | | Online Shopping |
nli/wikitext-103 | ss | NLI+RET | en | en | wiki | w | match | . | WikiText-103 |
nli/wiki2019zh | ss | NLI+RET | zh | zh | wiki | c | match | 。 | Wiki2019zh |
qa/duorc | ss | QA | en | en | movie | w | accuracy | \n . | DuoRC |
qa/nq-open | ss | QA | en | en | wiki | w | accuracy | \n . | NQ-Open |
qa/dureader | ss | QA | zh | zh | web | c | rouge | \n 。 | DuReader | accuracy
qa/drcd_semantic-single | ss | QA | zh | zh | wiki | c | accuracy | \n 。 | DRCD |
summarization/wikihow | ss | SUM+RET | en | en | wikihow | w | rouge | \n | WikiHow |
summarization/news2016 | ss | SUM+RET | zh | zh | news | c | rouge | \n | News2016 |
translation/tedtalks-en2zh | ss | TRAN+RET | en,zh | zh | talks | m | bleu | | TedTalks |
translation/tedtalks-zh2en | ss | TRAN+RET | en,zh | en | talks | m | bleu | | TedTalks |
classification/mnds-news_semantic-multiple | sm | CLS+CNT | en | en | news | w | match | . | MNDS News |
classification/thucnews_semantic-multiple | sm | CLS+CNT | zh | zh | news | c | match | 。 | THUCNews |
qa/hotpotqa | sm | QA | en | en | wiki | w | accuracy | \n . | HotpotQA |
classification/bigpatent_global_cls | gl | CLS | en | en | patent | w | accuracy | : | BIGPATENT |
qa/triviaqa | gl | QA | en | en | web | w | accuracy | \n . | TriviaQA |
summarization/arxiv | gl | SUM | en | en | academic | w | rouge | \n | Arxiv |
summarization/bigpatent_global_sum | gl | SUM | en | en | patent | w | rouge | \n | BIGPATENT |
summarization/pubmed | gl | SUM | en | en | medical | w | rouge | \n | Pubmed |
summarization/booksum | gl | SUM | en | en | book | w | rouge | \n | Booksum |
summarization/cnewsum | gl | SUM | zh | zh | news | c | rouge | \n 新闻 | CNewsum |
summarization/clts | gl | SUM | zh | zh | news | c | rouge | \n 新闻 | CLTS+ |
translation/open-subtitles-en2zh | gl | TRAN | en,zh | zh | movie | m | bleu | | OpenSubtitles |
translation/open-subtitles-zh2en | gl | TRAN | en,zh | en | movie | m | bleu | | OpenSubtitles |
translation/news-commentary-en2zh | gl | TRAN | en,zh | zh | news | m | bleu | | News Commentary |
translation/news-commentary-zh2en | gl | TRAN | en,zh | en | news | m | bleu | | News Commentary |
"""


def _tasks() -> dict[str, Task]:
    tasks = {}
    for line in _TABLE.strip().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        path, ability, kind, lang, answer, domain, unit, metric, cuts, source, released = cells
        folder, name = path.split("/")
        tasks[name] = Task(
            name,
            folder,
            _ABILITIES[ability],
            kind,
            lang,
            answer,
            domain,
            _UNITS[unit],
            metric,
            tuple(cut.replace(r"\n", "\n") for cut in cuts.split()),
            source,
            released or metric,
            name,
        )
    return tasks


def _further() -> dict[str, Task]:
    tasks = {}
    for name, languages in _LANGUAGES.items():
        task = TASKS[name]
        for lang in languages:
            own = f"{name}-{lang}" if "zh" not in name else name.replace("zh", lang)
            answer = lang if task.answer_lang == "zh" else task.answer_lang
            tasks[own] = task._replace(
                name=own, lang=f"en,{lang}", answer_lang=answer, unit="words"
            )
    return tasks


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

TASKS = _tasks()
# All that `source: constructed` can build: the paper's tasks, then those in further languages.
CONSTRUCTED = {**TASKS, **_further()}
SLUGS = {task.slug: task for task in CONSTRUCTED.values()}


def task_in(name: str, lang: str) -> Task:
    """A task, or its variant for a user's records in another language."""
    task = CONSTRUCTED[name]
    if lang == task.lang:
        return task
    return task._replace(lang=lang, answer_lang=lang, unit="any")


SAMPLED = (
    "mnds-news_explicit-single",
    "thucnews_explicit-single",
    "newsqa",
    "c3",
    "wow",
    "drcd_explicit-single",
    "cnnnews",
    "lcsts",
    "mnds-news_explicit-multiple",
    "thucnews_explicit-multiple",
    "marc",
    "online-shopping",
    "wikitext-103",
    "wiki2019zh",
    "nq-open",
    "drcd_semantic-single",
    "tedtalks-en2zh",
    "tedtalks-zh2en",
    "mnds-news_semantic-multiple",
    "thucnews_semantic-multiple",
    "hotpotqa",
    "bigpatent_global_cls",
    "triviaqa",
    "arxiv",
    "cnewsum",
    "open-subtitles-en2zh",
    "open-subtitles-zh2en",
)


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
    """A prompt in its pieces: the starts of its items, their ids, and the asked one's id."""

    instruction: str
    example_end: int
    items: list[int]
    items_end: int
    question: int
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
    """The frames of all tasks, by name. UserError if the file holds anything else."""
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
    """The frame with a user's texts in place of all texts of `texts_of`; missing texts are left out.

    The frame keeps its white space, and its parts without words: ids, and the separators of items.
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
    """The parts of the frame found in an `instruction` and the `text` that follows it; None if not found.

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
    question = end + len(_filled_late(frame, text, end))
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


def _filled_late(frame: Frame, text: str, end: int) -> str:
    late = _pattern(frame.late).match(text, end) if frame.late else None
    return late[0] if late else ""


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
        return _numbered(frame, prefix, text, start, end)
    pattern = re.compile(f"(?:^|(?<={re.escape(frame.join)}))" + _regex(prefix))
    found = [m for m in pattern.finditer(text, start, end) if m.start() >= start]
    # `^` is the beginning of the whole text; the first item stands behind the example.
    first = re.compile(_regex(prefix)).match(text, start, end)
    if first and (not found or found[0].start() != start):
        found.insert(0, first)
    return [m.groupdict().get("id") or "" for m in found], [m.start() for m in found]


def _numbered(
    frame: Frame, prefix: str, text: str, start: int, end: int
) -> tuple[list[str], list[int]]:
    """Items called 1, 2, ...: each is looked for behind the one before it."""
    starts: list[int] = []
    place = start if text.startswith(fill(prefix, {"id": "1"}), start) else -1
    while 0 <= place < end:
        starts.append(place)
        sought = (frame.join or "") + fill(prefix, {"id": str(len(starts) + 1)})
        place = text.find(sought, place, end)
        place += len(frame.join or "") if place >= 0 else 0
    return [str(number) for number in range(1, len(starts) + 1)], starts


def _prefix(frame: Frame) -> str:
    """The beginning of an item: up to its text or title, the title too where it is the item's name."""
    until = r"\{text\}" if frame.ids == "title" else r"\{(?:title|text)\}"
    return re.split(until, frame.item, maxsplit=1)[0]


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
