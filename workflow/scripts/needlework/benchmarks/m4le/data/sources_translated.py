"""M4LE's sources in English and another language: talks, news, subtitles, and summaries in the other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

from needlework.benchmarks.m4le.data.records import Document, Record
from needlework.benchmarks.m4le.data.tasks import Task

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
    """NCLS: English articles with a Chinese summary, the corrected one where there is one."""
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
