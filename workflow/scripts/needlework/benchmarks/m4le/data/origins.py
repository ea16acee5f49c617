"""Where M4LE's source data sets come from, and where their files belong in a user's folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from needlework.benchmarks.m4le.data.tasks import Task
from needlework.folders import matching


class Origin(NamedTuple):
    """A data set of M4LE's sources."""

    # Patterns below M4LE's raw_data; of very many files an index, or the archive that they come in.
    files: tuple[str, ...]
    url: str
    licence: str


# data set (`Task.source`) | place | licence, and a line for each pattern
_TABLE = """
MNDS News | https://zenodo.org/record/7394851 | CC-BY-4.0
    classification/MN-DS-news-classification.csv
THUCNews | http://thuctc.thunlp.org | research use, by a form
    classification/THUCNews.zip
NewsQA | https://github.com/Maluuba/newsqa | research use, of CNN's texts
    qa/newsqa/combined-newsqa-data-v1.json
C3 | https://github.com/nlpdata/c3 | non-commercial research
    qa/c3/c3-m-test.json
WoW | https://parl.ai/projects/wizard_of_wikipedia | CC-BY-4.0
    wow/data.json
DRCD | https://github.com/DRCKnowledgeTeam/DRCD | CC-BY-SA-3.0
    qa/DRCD/DRCD_test.json
CNNNews | https://cs.nyu.edu/~kcho/DMQA | CNN's texts
    summarization/cnn/stories/*.story
CEPSUM | https://github.com/hrlinlp/cepsum | by application
    summarization/CEPSUM/train.jsonl
LCSTS | http://icrc.hitsz.edu.cn/Article/show/139.html | by application
    summarization/lcsts/PART_II.txt
NCLS | https://github.com/ZNLP/NCLS-Corpora | none stated
    summarization/NCLS-Data/EN2ZHSUM/EN2ZHSUM_test.txt
MARC | https://huggingface.co/datasets/mteb/amazon_reviews_multi | research use; withdrawn by its publisher
    classification/marc/dataset_en_test.json
    classification/marc/dataset_zh_test.json
Online Shopping | https://github.com/SophonPlus/ChineseNlpCorpus | none stated
    classification/online_shopping_10_cats/online_shopping_10_cats.zip
WikiText-103 | https://huggingface.co/datasets/Salesforce/wikitext | CC-BY-SA-3.0
    nli/wikitext-2-raw/wiki.test.raw
Wiki2019zh | https://github.com/brightmart/nlp_chinese_corpus | MIT
    nli/wiki_zh/*/wiki_*
DuoRC | https://github.com/duorc/duorc | MIT
    qa/duorc/dataset/ParaphraseRC_test.json
NQ-Open | https://github.com/nelson-liu/lost-in-the-middle | MIT; CC-BY-SA-3.0
    lost_in_the_middle/nq-open-contriever-msmarco-retrieved-documents.jsonl.gz
DuReader | https://github.com/baidu/DuReader | Apache-2.0
    qa/dureader/devset/search.dev.json
    qa/dureader/devset/zhidao.dev.json
WikiHow | https://github.com/mahnazkoupaee/WikiHow-Dataset | CC-BY-NC-SA-3.0
    summarization/wikihow/wikihowAll.csv
News2016 | https://github.com/brightmart/nlp_chinese_corpus | MIT
    summarization/news2016zh/news2016zh_valid.json
TedTalks | https://wit3.fbk.eu | CC-BY-NC-ND-4.0
    translation/tedtalk/ted_en-20160408.xml
    translation/tedtalk/ted_zh-cn-20160408.xml
HotpotQA | https://hotpotqa.github.io | CC-BY-SA-4.0
    qa/hotpotqa/hotpot_dev_distractor_v1.json
BIGPATENT | https://evasharma.github.io/bigpatent | CC-BY-4.0
    summarization/bigPatentData/test/*/*.gz
TriviaQA | https://nlp.cs.washington.edu/triviaqa | Apache-2.0
    qa/triviaqa/qa/web-dev.json
    qa/triviaqa/qa/wikipedia-dev.json
Arxiv | https://github.com/armancohan/long-summarization | Apache-2.0
    summarization/arxiv-dataset/test.txt
Pubmed | https://github.com/armancohan/long-summarization | Apache-2.0
    summarization/pubmed-dataset/test.txt
Booksum | https://github.com/salesforce/booksum | BSD-3-Clause
    booksum/alignments/paragraph-level-summary-alignments/chapter_summary_aligned_train_split.jsonl.gathered
CNewsum | https://dqwang122.github.io/projects/CNewSum | research use
    summarization/CNewSum_v2/final/test.simple.label.jsonl
CLTS+ | https://github.com/lxj5957/CLTS-plus-Dataset | none stated
    summarization/clts/test.src
    summarization/clts/test.tgt
OpenSubtitles | https://opus.nlpl.eu/OpenSubtitles | none stated
    translation/opensubtitles/en-zh_cn.xml
    translation/opensubtitles/OpenSubtitles/xml/*/*/*/*.xml
News Commentary | https://opus.nlpl.eu/News-Commentary | research use
    translation/News-Commentary_v16/en-zh.xml
    translation/News-Commentary_v16/en/News-Commentary/xml/en/*.xml
    translation/News-Commentary_v16/zh/News-Commentary/xml/zh/*.xml
"""


def _origins() -> Iterator[tuple[str, Origin]]:
    for block in re.split(r"\n(?=\S)", _TABLE.strip()):
        head, *files = block.splitlines()
        source, url, licence = head.split(" | ")
        yield source, Origin(tuple(map(str.strip, files)), url, licence)


ORIGINS = dict(_origins())


def origin(task: Task) -> Origin:
    """The origin of a task. In a further language, its files stand in place of the Chinese files."""
    found, lang = ORIGINS[task.source], task.second
    if task.name == task.follows:
        return found
    # OPUS names a pair of languages in alphabetical order.
    pair = "-".join(sorted(("en", lang)))
    names = {
        "ted_zh-cn": f"ted_{lang}",
        "dataset_zh": f"dataset_{lang}",
        "en-zh.xml": f"{pair}.xml",
        "en-zh_cn.xml": f"{pair}.xml",
        "zh/News-Commentary/xml/zh": f"{lang}/News-Commentary/xml/{lang}",
    }
    pattern = re.compile("|".join(map(re.escape, names)))
    return found._replace(
        files=tuple(pattern.sub(lambda match: names[match[0]], file) for file in found.files)
    )


def source_files(folder: str | None, task: Task) -> list[str]:
    """The files of a task's source in the folder, sorted by pattern and name.

    Empty if a file of any pattern is missing.
    """
    if folder is None:
        return []
    found = [list(map(str, matching(folder, pattern))) for pattern in origin(task).files]
    return [file for files in found for file in files] if all(found) else []
