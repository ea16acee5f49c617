"""M4LE's source data sets, read in their own layouts as records.

Records are selected as in the released scripts.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree

from needlework import seeding
from needlework.benchmarks.m4le.data.origins import origin
from needlework.benchmarks.m4le.data.rows import POSITIVE, Document, Question, Record
from needlework.benchmarks.m4le.data.tasks import Task
from needlework.data.archives import Archive
from needlework.data.corpora.json_lines import read_lines
from needlework.errors import UserError
from needlework.records import RECORDS, read_table

# As many articles of each class of THUCNews, and of each file of wiki_zh, as the released scripts draw.
_PER_CLASS = 100
# THUCNews has 2.2 GB of text.
_MOST_BYTES = 8 << 30
_PER_FILE = 20
_NLI_LENGTH = 140
# The patent classes A to H and Y, as the prompt numbers them.
_PATENTS = {name: str(number) for number, name in enumerate("abcdefghy", start=1)}
_EXAMPLE_STORY = "86bd905861391cbd3a98de15c83768b6d1400304"
_EXAMPLE_GUIDES = ("How to Download on WhatsApp", "How to Style Very Long Hair")
_EXAMPLE_REVIEWS = (18879, 41707, 32206)
_EXAMPLE_POSTS = ("商业魔式之五层次策划理论", "乌鲁木齐三屯碑牛羊肉批发市场要搬迁了")


def load(path: Path) -> Any:
    """A file of JSON."""
    return json.loads(path.read_text(encoding="utf-8"))


def mnds(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """MN-DS news: articles with one of 17 classes."""
    for row in _csv(files[0].read_text(encoding="utf-8")):
        text = re.sub(r"\n{2,}", "\n", row["content"]).strip()
        yield Record(text, label=row["category_level_1"])


def thucnews(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """THUCNews: 100 articles of each class, drawn by their names."""
    with Archive(files[0], max_total=_MOST_BYTES) as archive:
        classes: dict[str, list[str]] = {}
        for name in archive.names:
            parts = PurePosixPath(name).parts
            if name.endswith(".txt") and len(parts) > 1 and parts[0] != "__MACOSX":
                classes.setdefault(parts[-2], []).append(name)
        for label, names in sorted(classes.items()):
            for name in sorted(names, key=lambda n: seeding.rank_key("thucnews", n))[:_PER_CLASS]:
                lines = archive.read(name).decode().splitlines()
                text = " ".join(line.strip().replace("\u3000", "") for line in lines).strip()
                if len(text) > 20:
                    yield Record(text, label=label)


def newsqa(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """NewsQA: CNN's articles, with the questions whose answer several readers agree on."""
    for row in load(files[0])["data"]:
        text = row["text"]
        asked = tuple(
            Question(q["q"][:1].lower() + q["q"][1:], (text[span["s"] : span["e"]],))
            for q in row["questions"]
            if "s" in (span := q["consensus"]) and text[span["s"] : span["e"]].strip()
        )
        if asked and _EXAMPLE_STORY not in row["storyId"]:
            yield Record(text.replace("\n", ""), questions=asked)


def c3(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """C3's texts of 100 characters and more, with questions that offer choices."""
    for documents, questions, *_ in load(files[0]):
        if len(documents[0]) >= 100:
            asked = []
            for row in questions:
                options = [f"{chr(ord('A') + i)}. {own}" for i, own in enumerate(row["choice"])]
                right = options[row["choice"].index(row["answer"])]
                asked.append(Question(f"{row['question']} {' '.join(options)}", (right,)))
            yield Record(documents[0].replace("\n", ""), questions=tuple(asked))


def wow(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """Wizard of Wikipedia: each topic with the passage that its first dialogue has."""
    topics: dict[str, str] = {}
    for row in load(files[0]):
        topics.setdefault(row["chosen_topic"], "\n".join(row["chosen_topic_passage"]))
    for topic, text in topics.items():
        yield Record(text, topic)


def drcd(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """DRCD's paragraphs with their questions.

    For tasks that ask for topics, each title once, with one of its paragraphs.
    """
    seen: set[str] = set()
    for item in load(files[0])["data"]:
        if task.draws == "topics":
            if item["title"] not in seen:
                seen.add(item["title"])
                chosen = seeding.rng("drcd", item["title"]).integers(len(item["paragraphs"]))
                yield Record(item["paragraphs"][int(chosen)]["context"], item["title"])
            continue
        for paragraph in item["paragraphs"]:
            asked = tuple(
                Question(qa["question"], tuple(answer["text"] for answer in qa["answers"]))
                for qa in paragraph["qas"]
            )
            if asked:
                yield Record(paragraph["context"], item["title"], questions=asked)


def cnn(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """CNN's stories of more than 30 words with highlights; lines without a final mark get a full stop."""
    for path in files:
        story: list[str] = []
        highlights: list[str] = []
        following = False
        for line in filter(None, path.read_text(encoding="utf-8").splitlines()):
            if line.startswith("@highlight"):
                following = True
                continue
            ended = line if line[-1] in ".!?'`\"\u2019\u201d)" else f"{line} ."
            (highlights if following else story).append(ended)
        text = " ".join(story)
        if highlights and len(text.split()) > 30:
            yield Record(text, answers=(" ".join(highlights),))


def cepsum(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """CEPSUM's products with a description of 60 characters and more."""
    for line in read_lines(files[0]):
        if len(source := line.get("source", str)) >= 60:
            yield Record(source, answers=tuple(line.texts("targets")))


def lcsts(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """LCSTS: posts whose summary its readers rated 5."""
    entry = re.compile(
        r"<doc\b.*?<human_label>\s*5\s*</human_label>\s*<summary>(.*?)</summary>\s*"
        r"<short_text>(.*?)</short_text>",
        re.DOTALL,
    )
    for document in files[0].read_text(encoding="utf-8").split("</doc>"):
        if found := entry.search(document):
            summary, text = (part.strip('"\n ') for part in found.groups())
            if summary not in _EXAMPLE_POSTS:
                yield Record(text, answers=(summary,))


def marc(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """Amazon's reviews with one or five stars, in two languages."""
    for path in files:
        for line in read_lines(path):
            stars, lang = line.get("stars", int), line.get("language", str)
            if stars in (1, 5):
                space = "" if lang == "zh" else " "
                text = space.join(line.get(key, str) for key in ("review_title", "review_body"))
                yield Record(text, label=POSITIVE if stars == 5 else "negative")


def online_shopping(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """Reviews of ten kinds of goods, with label 1 or 0."""
    with Archive(files[0]) as archive:
        name = next(name for name in sorted(archive.names) if name.endswith(".csv"))
        rows = list(_csv(archive.read(name).decode("utf-8-sig")))
    # Taken out one after the other, as the released script does.
    for place in _EXAMPLE_REVIEWS:
        if place < len(rows):
            rows.pop(place)
    for row in rows:
        if row["review"]:
            yield Record(row["review"], label=POSITIVE if row["label"] == "1" else "negative")


def wikitext(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """WikiText-2's raw test file: the paragraphs of more than 30 words of each article."""
    title = ""
    paragraphs: list[Document] = []
    for line in [*files[0].read_text(encoding="utf-8").splitlines(), "= end ="]:
        line = line.strip()
        if line.startswith("=") and line.endswith("="):
            if line.count("=") == 2:
                if paragraphs:
                    yield Record(title, parts=tuple(paragraphs))
                title, paragraphs = line, []
        elif len(line.split()) > 30:
            paragraphs.append(Document(line))


def wiki2019zh(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """Chinese Wikipedia: 20 articles a file, in paragraphs of 140 characters and more."""
    for path in files:
        lines = list(read_lines(path))
        place = "/".join(path.parts[-2:])
        ranked = sorted(range(len(lines)), key=lambda i: seeding.rank_key("wiki_zh", place, i))
        for number in sorted(ranked[:_PER_FILE]):
            paragraphs, gathered = [], ""
            for line in lines[number].get("text", str).replace("\n\n", "\n").split("\n"):
                gathered = f"{gathered}\n{line}" if gathered else line
                if len(gathered) >= _NLI_LENGTH:
                    paragraphs.append(Document(gathered))
                    gathered = ""
            if len(paragraphs) > 1:
                yield Record(lines[number].get("title", str), parts=tuple(paragraphs))


def duorc(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """DuoRC's plots with the questions that they answer."""
    for row in load(files[0]):
        asked = tuple(
            Question(qa["question"], tuple(qa["answers"]))
            for qa in row["qa"]
            if not qa["no_answer"]
        )
        if asked:
            yield Record(row["plot"].replace("\n", ""), row["title"], questions=asked)


def nq_open(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """NaturalQuestions with passages from Lost in the Middle: the gold passage, others without an answer."""
    for line in read_lines(files[0]):
        gold = line.get("nq_annotated_gold", dict)
        others = tuple(
            Document(c["text"], c["title"])
            for c in line.get("ctxs", list)
            if c["hasanswer"] is False
        )
        question = Question(line.get("question", str), tuple(line.texts("answers")))
        text = line.get("chunked_long_answer", str, gold)
        yield Record(text, line.get("title", str, gold), questions=(question,), parts=others)


def dureader(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """DuReader's questions for a description or an entity, with their own documents."""
    for path in filter(lambda file: file.stat().st_size, files):
        for line in read_lines(path):
            answers = line.texts("answers")
            documents = tuple(
                Document("".join(d["paragraphs"]), d["title"]) for d in line.get("documents", list)
            )
            kind = line.get("question_type", str)
            asked = kind in ("DESCRIPTION", "ENTITY") and answers and documents
            if asked and max(map(len, answers)) <= 300:
                question = Question(line.get("question", str), tuple(answers))
                yield Record("", questions=(question,), parts=documents)


def wikihow(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """WikiHow's guides of more than 60 words, without the CSV file's commas and line ends between steps."""
    for row in _csv(files[0].read_text(encoding="utf-8")):
        title = row["title"].rstrip("0123456789")
        if len(row["text"].split()) <= 60 or not title or row["title"] in _EXAMPLE_GUIDES:
            continue
        headline = row["headline"].replace(".,", ".").replace("\n", " ").strip()
        text = re.sub(r"\n\s+", " ", re.sub(r"[.]+\n+,", ".\n", row["text"])).strip()
        if headline:
            yield Record(text, title, answers=(headline,))


def news2016(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """news2016zh: articles of 200 to 800 characters that hold neither their keywords nor their title."""
    for line in read_lines(files[0]):
        keywords, title, text = (line.get(key, str) for key in ("keywords", "title", "content"))
        told = keywords in title or keywords in text or title in text
        if title and not told and 200 < len(text) < 800:
            yield Record(text, title, asked=keywords, answers=(title,))


def hotpotqa(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """HotpotQA's distractor setting: a question with its ten paragraphs."""
    for row in load(files[0]):
        parts = tuple(Document(" ".join(sentences)) for _, sentences in row["context"])
        yield Record("", questions=(Question(row["question"], (row["answer"],)),), parts=parts)


def bigpatent(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """BIGPATENT's descriptions: the class is the folder's name, the summary the abstract."""
    for path in files:
        for line in read_lines(path):
            text, abstract = (line.get(key, str) for key in ("description", "abstract"))
            yield Record(text, label=_PATENTS[path.parent.name], answers=(abstract,))


def triviaqa(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """TriviaQA's questions with the first page of evidence; the pages stand beside the questions."""
    evidence = files[0].parents[1] / "evidence"
    for path in files:
        for row in load(path)["Data"]:
            for key, folder in (("SearchResults", "web"), ("EntityPages", "wikipedia")):
                if row.get(key):
                    name, place = row[key][0]["Filename"], evidence / folder
                    if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                        raise ValueError(f"the file name {name!r} leads out of {place}")
                    text = (place / name).read_text(encoding="utf-8").strip()
                    known = row["Answer"]
                    answers = (
                        *(known["Value"], known["NormalizedValue"]),
                        *(known["Aliases"] + known["NormalizedAliases"]),
                    )
                    if "\0" not in text:
                        yield Record(text, questions=(Question(row["Question"], answers),))
                    break


def papers(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """Papers from arXiv or PubMed with their abstracts (Cohan and others, 2018)."""
    for line in read_lines(files[0]):
        abstract = " ".join(
            re.sub(r"^<S>\s*|\s*</S>$", "", sentence).strip()
            for sentence in line.texts("abstract_text")
        )
        yield Record(" ".join(line.texts("article_text")), answers=(abstract,))


def booksum(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """BookSum: the aligned paragraphs and summaries of each book, in order."""
    books: dict[str, list[Document]] = {}
    for line in read_lines(files[0]):
        text, summary = (" ".join(line.texts(key)) for key in ("text", "summary"))
        books.setdefault(str(line.value["bid"]), []).append(Document(text, summary))
    for title, parts in books.items():
        yield Record("", title, parts=tuple(parts))


def cnewsum(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """CNewSum's articles of 60 characters and more, without spaces."""
    for line in read_lines(files[0]):
        summary = line.value.get("summary")
        lines = [summary] if isinstance(summary, str) else line.texts("summary")
        article, short = ("".join("".join(ls).split()) for ls in (line.texts("article"), lines))
        if len(article) >= 60:
            yield Record(article, answers=(short,))


def clts(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """CLTS+: articles and summaries, line by line, without spaces."""
    sources, targets = (path.read_text(encoding="utf-8").splitlines() for path in files)
    for text, summary in zip(sources, targets, strict=True):
        yield Record("".join(text.split()), answers=("".join(summary.split()),))


def _csv(text: str) -> Iterator[dict[str, str]]:
    return csv.DictReader(io.StringIO(text, newline=""))


# These stand in the prompts as examples.
_EXAMPLE_TALKS = ("1619", "322")
_EXAMPLE_NEWS = ("en/tibet-s-peace-of-the-grave.xml", "en/playing-for-human-rights.xml")
_EXAMPLE_FILM = "63013.xml"
_TALK_LENGTH, _LEAST_TALK_WORDS = 300, 50
_ARTICLE_LENGTH = 400
# Subtitles begin with credits.
_CREDITS = 20


def tedtalks(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """TED's talks (WIT3): their beginnings of about 300 words and characters."""
    english, others = ({talk.findtext("head/talkid"): talk[0] for talk in _xml(f)} for f in files)
    for number, other in others.items():
        if other.find("title") is None or number in _EXAMPLE_TALKS or number not in english:
            continue
        en = english[number]
        taken: list[tuple[str, str]] = []
        length = 0
        for pair in zip(
            *(talk.findall("transcription/seekvideo") for talk in (en, other)), strict=False
        ):
            texts = pair[0].text or "", pair[1].text or ""
            length += _length(texts[0]) + _length(texts[1], task.second)
            if length >= _TALK_LENGTH:
                break
            taken.append(texts)
        text = " ".join(pair[0] for pair in taken)
        if len(text.split()) > _LEAST_TALK_WORDS:
            titles = (en.findtext("title", ""), other.findtext("title", ""))
            texts = (text, _space(task).join(pair[1] for pair in taken))
            yield _one_way(task, texts, titles)


def _space(task: Task) -> str:
    """What stands between the words of the language beside English."""
    return "" if task.second == "zh" else " "


def _length(text: str, lang: str = "en") -> int:
    """The characters of Chinese, the words of other languages."""
    return len(text) if lang == "zh" else len(text.split())


def _one_way(task: Task, texts: tuple[str, str], titles: tuple[str, str]) -> Record:
    """A record of the direction of the task, of (English, the other language)."""
    source = int(task.answer_lang == "en")
    return Record(texts[source], titles[source], answers=(texts[1 - source],))


def commentary(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """News Commentary (OPUS): aligned paragraphs, joined up to about 400 words and characters."""
    folders = _by_name(files[1:])
    for pair, links in _alignments(files[0], task.second):
        trees = [folders.get(name) for name in pair]
        if None in trees or pair[0] in _EXAMPLE_NEWS:
            continue
        roots = [_xml(path) for path in trees if path]
        # The English is parsed into chunks; of the other languages, some are.
        words = "./HEADLINE/s/w" if task.second == "zh" else "./HEADLINE/s//w"
        titles = (
            " ".join(w.text or "" for w in roots[0].findall("./HEADLINE/s/chunk/w")),
            _space(task).join(w.text or "" for w in roots[1].findall(words)),
        )
        english, others = (_paragraphs(root) for root in roots)
        taken: tuple[list[str], list[str]] = ([], [])
        length = 0
        for link in links[1:]:
            if not all(link):
                continue
            en = " ".join(word for id_ in link[0] for word in english[id_])
            other = _space(task).join(word for id_ in link[1] for word in others[id_])
            size = _length(en) + _length(other, task.second)
            if taken[0] and length + size > _ARTICLE_LENGTH:
                yield _one_way(task, (" ".join(taken[0]), _space(task).join(taken[1])), titles)
                taken, length = ([], []), 0
            taken[0].append(en)
            taken[1].append(other)
            length += size
        if taken[0]:
            yield _one_way(task, (" ".join(taken[0]), _space(task).join(taken[1])), titles)


def _paragraphs(root: ElementTree.Element) -> dict[str, list[str]]:
    """The words of each sentence behind the headline, by the number in their ids (`w<number>.<word>`)."""
    found: dict[str, list[str]] = {}
    for element in list(root)[1:]:
        for word in element.iter("w"):
            found.setdefault(word.attrib["id"][1:].split(".")[0], []).append(word.text or "")
    return found


def subtitles(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """OpenSubtitles (OPUS): a film's aligned lines, each with its translation."""
    films = _by_name(files[1:], parts=4)
    for pair, links in _alignments(files[0], task.second, parts=4):
        if _EXAMPLE_FILM in pair[0] or any(name not in films for name in pair):
            continue
        english, others = (
            {
                sentence.attrib["id"]: [word.text or "" for word in sentence.findall("w")]
                for sentence in _xml(films[name]).findall("s")
            }
            for name in pair
        )
        lines = []
        for link in links[_CREDITS:]:
            if all(link):
                en = " ".join(word for id_ in link[0] for word in english[id_])
                other = _space(task).join(word for id_ in link[1] for word in others[id_])
                texts = [re.sub(r"\{.*?\}", "", text) for text in (en, other)]
                source = int(task.answer_lang == "en")
                lines.append(Document(texts[source], texts[1 - source]))
        yield Record("", pair[0], parts=tuple(lines))


Link = tuple[list[str], list[str]]


def _alignments(
    path: Path, lang: str, parts: int = 2
) -> Iterator[tuple[tuple[str, str], list[Link]]]:
    """The pairs of documents, by the last parts of their paths, with the sentences of each link.

    English comes first here. In the file, the two languages are in alphabetical order.
    """
    order = ("fromDoc", "toDoc") if lang > "en" else ("toDoc", "fromDoc")
    for group in _xml(path):
        links = [link.attrib["xtargets"].split(";") for link in group]
        if links:
            names = (group.attrib[key].removesuffix(".gz") for key in order)
            english, other = ("/".join(PurePosixPath(name).parts[-parts:]) for name in names)
            sides = [(left.split(), right.split()) for left, right in links]
            yield (english, other), [side if lang > "en" else side[::-1] for side in sides]


def _by_name(files: Sequence[Path], parts: int = 2) -> Mapping[str, Path]:
    """Files by the last parts of their paths: only they are read, whatever the data name."""
    return {"/".join(path.parts[-parts:]): path for path in files}


def ncls(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """NCLS: English articles with a Chinese summary, in the corrected version if there is one."""
    found: dict[str, str] = {}
    following = ""
    with files[0].open(encoding="utf-8") as lines:
        for line in map(str.strip, lines):
            tag = re.match(r"<(Article|EN-REF|ZH-REF|/doc)\b", line)
            if tag is None:
                if following and line:
                    found[following] = line
                    following = ""
            elif tag[1] == "/doc":
                if "Article" in found and "ZH-REF" in found:
                    yield Record(found["Article"], answers=(found["ZH-REF"],))
                found, following = {}, ""
            elif tag[1] not in found or "human-corrected" in line:
                following = tag[1]


def _xml(path: Path) -> ElementTree.Element:
    """A file's root. ValueError if it declares entities, with which a small file grows without end."""
    data = path.read_bytes()
    if b"<!ENTITY" in data:
        raise ValueError(f"{path} declares entities")
    return ElementTree.fromstring(data)


Reader = Callable[[Task, Sequence[Path]], Iterator[Record]]

# By `Task.source`.
READERS: dict[str, Reader] = {
    **{"MNDS News": mnds, "THUCNews": thucnews, "NewsQA": newsqa, "C3": c3, "WoW": wow},
    **{"DRCD": drcd, "CNNNews": cnn, "CEPSUM": cepsum, "LCSTS": lcsts, "NCLS": ncls},
    **{"MARC": marc, "Online Shopping": online_shopping, "WikiText-103": wikitext},
    **{"Wiki2019zh": wiki2019zh, "DuoRC": duorc, "NQ-Open": nq_open, "DuReader": dureader},
    **{"WikiHow": wikihow, "News2016": news2016, "HotpotQA": hotpotqa, "BIGPATENT": bigpatent},
    **{"TriviaQA": triviaqa, "Arxiv": papers, "Pubmed": papers, "Booksum": booksum},
    **{"CNewsum": cnewsum, "CLTS+": clts, "TedTalks": tedtalks, "OpenSubtitles": subtitles},
    "News Commentary": commentary,
}

# The released scripts leave these as they are; all other Chinese becomes simplified.
_AS_IT_IS = ("marc", "online-shopping", "wiki2019zh")


def source_records(task: Task, files: Sequence[Path]) -> Iterator[Record]:
    """The documents of a task's source, or of a user's table of RECORDS.

    Raises UserError if a file has another layout.
    """
    if files[0].suffix == ".parquet":
        yield from _of_table(task, files[0])
        return
    # The limit is the whole process's.
    usual = csv.field_size_limit(sys.maxsize)
    as_it_is = (
        task.follows in _AS_IT_IS or task.name.startswith("thucnews") or "zh" not in task.lang
    )
    try:
        for record in READERS[task.source](task, files):
            yield record if as_it_is else simplified(record)
    except (
        *(KeyError, IndexError, TypeError, ValueError, AttributeError, OSError, EOFError),
        *(json.JSONDecodeError, csv.Error, ElementTree.ParseError),
    ) as error:
        raise UserError(
            f"m4le's {task.name}: {files[0]}{' and others' if len(files) > 1 else ''} cannot be read as "
            f"{task.source} ({type(error).__name__}: {str(error)[:200]}): get the files anew from "
            f"{origin(task).url}."
        ) from None
    finally:
        csv.field_size_limit(usual)


def _of_table(task: Task, path: Path) -> Iterator[Record]:
    for row in read_table(path, RECORDS.names).to_pylist():
        question, answers = row["question"], tuple(row["answers"])
        if task.task_type.startswith(("QA", "SUM")) and not any(map(str.strip, answers)):
            raise UserError(
                f"m4le's {task.name}: the text {row['text'][:60]!r} of the records has no answer, which the "
                "task needs: add it, or leave the row out."
            )
        yield Record(
            row["text"],
            row["title"],
            "",
            row["label"],
            () if question else answers,
            (Question(question, answers),) if question else (),
            tuple(map(Document, row["parts"])),
        )


@lru_cache(maxsize=1)
def _converter() -> Any:
    from opencc import OpenCC

    return OpenCC("t2s")


def simplified(value: Any) -> Any:
    """A record, or a part of one, in simplified Chinese characters.

    OpenCC's t2s converts them, as in the released scripts.
    """
    if isinstance(value, str):
        return _converter().convert(value) if value else value
    made = map(simplified, value)
    return value._make(made) if hasattr(value, "_make") else tuple(made)
