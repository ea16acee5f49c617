"""M4LE's 39 task files (paper, Table 2; the cuts are those of the released scorer), as data.

Beyond the paper: some of these tasks in further languages that their source data sets have.
"""

from __future__ import annotations

import re
from typing import NamedTuple

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

    `lang` is the paper's language ("en", "zh" or "en,zh"), `answer_lang` that of the answers. A task in
    a further language ("en,de") has the source, the rules and the metric of the task `follows`. `unit`
    is how the file counts lengths: "words" between white space, "characters", "mixed" (both added: the
    words of English, the characters of Chinese), or "any" (words of any script). `metric` is the
    paper's: "accuracy" (a gold answer is a part of the answer), "match" (they are equal), "f1" (of sets of
    ids), "rouge" (ROUGE-L recall) or "bleu"; the released scorer's is `released`. An answer ends before the
    first of each of `cuts`, one after the other. `source` is the data set's name in the paper.
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
        """The name of its wording: that of the paper's task, or of its further languages."""
        if self.name == self.follows:
            return self.name
        return self.follows.replace("zh", "xx") if "zh" in self.follows else f"{self.follows}-xx"

    @property
    def slug(self) -> str:
        """The name as a part of paths and slices: small letters and digits only."""
        return re.sub(r"[^a-z0-9]", "", self.name)

    @property
    def archived(self) -> tuple[str, ...]:
        """The names that its file may have in the first release: its own, or those of the released scorer."""
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
    """A task, or what it is of a user's records in another language."""
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
