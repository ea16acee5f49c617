"""Check before a run which corpora, prompts, phrases and tokens a language has, and what is missing.

    python -m needlework.benchmarks.oneruler.language_check eo --folder my_languages

`--none-words` and `--answer-tags` have the values that benchmarks.oneruler will have in the configuration.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from needlework.benchmarks.oneruler import corpus as oneruler
from needlework.benchmarks.oneruler import wording
from needlework.benchmarks.oneruler.factors import ARTICLES
from needlework.benchmarks.oneruler.plan import FOLDER_FILES
from needlework.data.corpora.registry import CORPORA, LANGUAGE, folder_languages, languages_of
from needlework.errors import UserError
from needlework.prompts.tokenizers import load_tokenizer
from needlework.scoring.translation import LANGUAGES as IDENTIFIED
from needlework.scoring.translators.nllb import FLORES

# Compared with English, a tokenizer that was not trained on a language takes several times as many.
TOKENIZERS = {
    "cl100k_base": {"kind": "tiktoken", "encoding": "cl100k_base"},
    "o200k_base": {"kind": "tiktoken", "encoding": "o200k_base"},
    "mistral-v1": {"kind": "mistral-common", "version": "v1"},
}


class Finding(NamedTuple):
    """One line of the report. `missing` stops a run; without it the line is for information."""

    what: str
    said: str
    missing: bool = False


def findings(
    lang: str,
    folder: Path | None,
    own_words: Sequence[str] = (),
    own_tags: Sequence[str] = (),
) -> Iterator[Finding]:
    """The findings on a language. Raises UserError if `folder` is not a folder."""
    if not re.fullmatch(LANGUAGE, lang):
        yield Finding(
            "code", f"{lang!r} is not a code: use small letters and digits only", missing=True
        )
        return
    having = [name for name in CORPORA if lang in languages_of(name)]
    yield Finding("corpora", ", ".join(having) or "none of those that are downloaded")
    if folder is not None and lang in folder_languages(str(folder)):
        yield from _files(lang, folder)
    elif "oneruler_books" not in having:
        where = folder or "a folder of your own (sources.oneruler.folder)"
        yield Finding("ONERULER's files", f"{where} has no folder {lang}", missing=True)
    yield from _answers(lang, folder, own_words, own_tags)
    articles = ARTICLES.get(lang)
    yield Finding(
        "Wikipedia",
        "the paper's group of resources is known"
        if articles
        else "set benchmarks.oneruler.wikipedia_articles, or it is in no group of resources",
    )
    yield Finding(
        "translation",
        ("the language is told apart" if lang in IDENTIFIED else "answers in it are not told apart")
        + (", and NLLB translates it" if lang in FLORES else ", and NLLB has no code for it"),
    )


def _files(lang: str, folder: Path) -> Iterator[Finding]:
    """What ONERULER's files of a language hold, as the workflow reads them."""
    for kind, patterns in FOLDER_FILES.items():
        paths = [folder / pattern.format(lang=lang) for pattern in patterns]
        if kind == "books":
            paths.append(folder / lang / "sentences.json")
        there = [path for path in paths if path.is_file()]
        try:
            table = oneruler.table(f"oneruler_{kind}", lang, [str(path) for path in there], {})
        except UserError as error:
            yield Finding(f"ONERULER's {kind}", str(error), missing=True)
            continue
        if kind == "books":
            text = table["text"][0].as_py()
            count = len(table["sentence_starts"][0].as_py())
            yield Finding("ONERULER's books", f"{len(text):,} characters, {count:,} sentences")
            # How many tokens a word takes: of these the lengths consist.
            sample = text[:100_000]
            words = max(1, len(sample.split()))
            for name, entry in TOKENIZERS.items():
                try:
                    said = f"{load_tokenizer(name, entry).count(sample) / words:.2f} per word"
                except (UserError, ImportError) as error:
                    said = f"not counted: {error}"
                yield Finding(f"tokens in {name}", said)
        else:
            yield Finding(f"ONERULER's {kind}", f"{table.num_rows:,} rows")
        if kind == "prompts" and not any(path.name == "cwe.txt" for path in there):
            yield Finding("cwe.txt", "not there: only tasks of common words need it")


def _answers(
    lang: str, folder: Path | None, own_words: Sequence[str], own_tags: Sequence[str]
) -> Iterator[Finding]:
    """What scoring knows of a language: the words for "none" and the tag around an answer."""
    known = lang in wording.languages()
    if known:
        yield Finding('phrases for "none"', "in resources/oneruler/none_phrases.yaml")
    else:
        remedy = "set benchmarks.oneruler.none_words to all words that a model may use"
        given = ", ".join(own_words)
        yield Finding('phrases for "none"', given or remedy, missing=not own_words)
    path = folder / lang / "niah.json" if folder is not None else None
    if path is None or not path.is_file():
        return
    try:
        table = oneruler.prompts(lang, [path, path.with_name("cwe.txt")])
        texts = dict(zip(table["key"].to_pylist(), table["text"].to_pylist(), strict=True))
    except UserError:
        # Said where the files are.
        return
    if not known and texts["none"].strip() not in own_words:
        yield Finding("the prompt's word for none", f"add {texts['none']!r} to none_words", True)
    tags = {name.casefold() for name in (*wording.ANSWER_TAGS, *own_tags)}
    asked = {
        tag.casefold() for tag in re.findall(r"<\s*([^\s<>/][^<>/]*?)\s*>", texts["answer_numbers"])
    }
    for tag in sorted(asked - tags):
        yield Finding("answer tag", f"add {tag!r} to benchmarks.oneruler.answer_tags", missing=True)


def main(arguments: Sequence[str]) -> int:
    """Print the findings; the exit code is 1 if something is missing, else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("language")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--none-words", nargs="*", default=[])
    parser.add_argument("--answer-tags", nargs="*", default=[])
    given = parser.parse_args(arguments)
    try:
        found = list(findings(given.language, given.folder, given.none_words, given.answer_tags))
    except UserError as error:
        print(error)
        return 1
    for finding in found:
        print(f"{'MISSING' if finding.missing else 'ok     '} {finding.what}: {finding.said}")
    return int(any(finding.missing for finding in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
