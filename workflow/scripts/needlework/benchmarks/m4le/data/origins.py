"""Where the files of M4LE's source data sets belong in a user's folder, and where they come from."""

from __future__ import annotations

from typing import NamedTuple

from needlework.benchmarks.m4le.data.tasks import Task
from needlework.folders import matching


class Origin(NamedTuple):
    """The files of a task's source, as patterns below M4LE's raw_data, its place and its licence.

    A task whose source has very many files names an index of them, or the archive that they come in.
    """

    files: tuple[str, ...]
    url: str
    licence: str


_MNDS = Origin(
    ("classification/MN-DS-news-classification.csv",),
    "https://zenodo.org/record/7394851",
    "CC-BY-4.0",
)
_THUC = Origin(
    ("classification/THUCNews.zip",), "http://thuctc.thunlp.org", "research use, by a form"
)
_DRCD = Origin(
    ("qa/DRCD/DRCD_test.json",),
    "https://github.com/DRCKnowledgeTeam/DRCD",
    "CC-BY-SA-3.0",
)
_PATENT = Origin(
    ("summarization/bigPatentData/test/*/*.gz",),
    "https://evasharma.github.io/bigpatent",
    "CC-BY-4.0",
)
_TED = Origin(
    ("translation/tedtalk/ted_en-20160408.xml", "translation/tedtalk/ted_zh-cn-20160408.xml"),
    "https://wit3.fbk.eu",
    "CC-BY-NC-ND-4.0",
)
_COMMENTARY = Origin(
    (
        "translation/News-Commentary_v16/en-zh.xml",
        "translation/News-Commentary_v16/en/News-Commentary/xml/en/*.xml",
        "translation/News-Commentary_v16/zh/News-Commentary/xml/zh/*.xml",
    ),
    "https://opus.nlpl.eu/News-Commentary",
    "research use",
)
_SUBTITLES = Origin(
    (
        "translation/opensubtitles/en-zh_cn.xml",
        "translation/opensubtitles/OpenSubtitles/xml/*/*/*/*.xml",
    ),
    "https://opus.nlpl.eu/OpenSubtitles",
    "none stated",
)

ORIGINS: dict[str, Origin] = {
    **dict.fromkeys(
        ("mnds-news_explicit-single", "mnds-news_explicit-multiple", "mnds-news_semantic-multiple"),
        _MNDS,
    ),
    **dict.fromkeys(
        ("thucnews_explicit-single", "thucnews_explicit-multiple", "thucnews_semantic-multiple"),
        _THUC,
    ),
    "newsqa": Origin(
        ("qa/newsqa/combined-newsqa-data-v1.json",),
        "https://github.com/Maluuba/newsqa",
        "research use, of CNN's texts",
    ),
    "c3": Origin(
        ("qa/c3/c3-m-test.json",), "https://github.com/nlpdata/c3", "non-commercial research"
    ),
    "wow": Origin(("wow/data.json",), "https://parl.ai/projects/wizard_of_wikipedia", "CC-BY-4.0"),
    **dict.fromkeys(("drcd_explicit-single", "drcd_semantic-single"), _DRCD),
    "cnnnews": Origin(
        ("summarization/cnn/stories/*.story",), "https://cs.nyu.edu/~kcho/DMQA", "CNN's texts"
    ),
    "cepsum": Origin(
        ("summarization/CEPSUM/train.jsonl",),
        "https://github.com/hrlinlp/cepsum",
        "by application",
    ),
    "lcsts": Origin(
        ("summarization/lcsts/PART_II.txt",),
        "http://icrc.hitsz.edu.cn/Article/show/139.html",
        "by application",
    ),
    "ncls": Origin(
        ("summarization/NCLS-Data/EN2ZHSUM/EN2ZHSUM_test.txt",),
        "https://github.com/ZNLP/NCLS-Corpora",
        "none stated",
    ),
    "marc": Origin(
        (
            "classification/marc/dataset_en_test.json",
            "classification/marc/dataset_zh_test.json",
        ),
        "https://huggingface.co/datasets/mteb/amazon_reviews_multi",
        "research use; withdrawn by its publisher",
    ),
    "online-shopping": Origin(
        ("classification/online_shopping_10_cats/online_shopping_10_cats.zip",),
        "https://github.com/SophonPlus/ChineseNlpCorpus",
        "none stated",
    ),
    "wikitext-103": Origin(
        ("nli/wikitext-2-raw/wiki.test.raw",),
        "https://huggingface.co/datasets/Salesforce/wikitext",
        "CC-BY-SA-3.0",
    ),
    "wiki2019zh": Origin(
        ("nli/wiki_zh/*/wiki_*",), "https://github.com/brightmart/nlp_chinese_corpus", "MIT"
    ),
    "duorc": Origin(
        ("qa/duorc/dataset/ParaphraseRC_test.json",), "https://github.com/duorc/duorc", "MIT"
    ),
    "nq-open": Origin(
        ("lost_in_the_middle/nq-open-contriever-msmarco-retrieved-documents.jsonl.gz",),
        "https://github.com/nelson-liu/lost-in-the-middle",
        "MIT; CC-BY-SA-3.0",
    ),
    "dureader": Origin(
        ("qa/dureader/devset/search.dev.json", "qa/dureader/devset/zhidao.dev.json"),
        "https://github.com/baidu/DuReader",
        "Apache-2.0",
    ),
    "wikihow": Origin(
        ("summarization/wikihow/wikihowAll.csv",),
        "https://github.com/mahnazkoupaee/WikiHow-Dataset",
        "CC-BY-NC-SA-3.0",
    ),
    "news2016": Origin(
        ("summarization/news2016zh/news2016zh_valid.json",),
        "https://github.com/brightmart/nlp_chinese_corpus",
        "MIT",
    ),
    **dict.fromkeys(("tedtalks-en2zh", "tedtalks-zh2en"), _TED),
    "hotpotqa": Origin(
        ("qa/hotpotqa/hotpot_dev_distractor_v1.json",), "https://hotpotqa.github.io", "CC-BY-SA-4.0"
    ),
    **dict.fromkeys(("bigpatent_global_cls", "bigpatent_global_sum"), _PATENT),
    "triviaqa": Origin(
        ("qa/triviaqa/qa/web-dev.json", "qa/triviaqa/qa/wikipedia-dev.json"),
        "https://nlp.cs.washington.edu/triviaqa",
        "Apache-2.0",
    ),
    "arxiv": Origin(
        ("summarization/arxiv-dataset/test.txt",),
        "https://github.com/armancohan/long-summarization",
        "Apache-2.0",
    ),
    "pubmed": Origin(
        ("summarization/pubmed-dataset/test.txt",),
        "https://github.com/armancohan/long-summarization",
        "Apache-2.0",
    ),
    "booksum": Origin(
        (
            "booksum/alignments/paragraph-level-summary-alignments/"
            "chapter_summary_aligned_train_split.jsonl.gathered",
        ),
        "https://github.com/salesforce/booksum",
        "BSD-3-Clause",
    ),
    "cnewsum": Origin(
        ("summarization/CNewSum_v2/final/test.simple.label.jsonl",),
        "https://dqwang122.github.io/projects/CNewSum",
        "research use",
    ),
    "clts": Origin(
        ("summarization/clts/test.src", "summarization/clts/test.tgt"),
        "https://github.com/lxj5957/CLTS-plus-Dataset",
        "none stated",
    ),
    **dict.fromkeys(("open-subtitles-en2zh", "open-subtitles-zh2en"), _SUBTITLES),
    **dict.fromkeys(("news-commentary-en2zh", "news-commentary-zh2en"), _COMMENTARY),
}


def origin(task: Task) -> Origin:
    """The origin of a task. In a further language, its files stand in place of the Chinese files."""
    found, lang = ORIGINS[task.follows], task.second
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
    files = []
    for file in found.files:
        for chinese, own in names.items():
            file = file.replace(chinese, own)
        files.append(file)
    return found._replace(files=tuple(files))


def source_files(folder: str | None, task: Task) -> list[str]:
    """The files of a task's source in the folder, sorted by pattern and name; none if one is missing."""
    if folder is None:
        return []
    found = [list(map(str, matching(folder, pattern))) for pattern in origin(task).files]
    return [file for files in found for file in files] if all(found) else []
