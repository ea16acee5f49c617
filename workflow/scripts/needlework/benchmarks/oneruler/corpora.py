"""The corpora of ONERULER; its books are haystacks of mLongRR too."""

from __future__ import annotations

from needlework.data.corpora.corpus import Corpus

READER = "benchmarks.oneruler.corpus"

# What ONERULER has of a language, in the embedded sample and in a user's folder.
BOOKS = ("{lang}/book.txt", "{lang}/sentences.json")
NOUNS = ("nouns.tsv",)
WORDS = ("{lang}/words.csv",)
PROMPTS = ("{lang}/niah.json", "{lang}/cwe.txt")


def _in_sample(patterns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"oneruler/{pattern}" for pattern in patterns)


CORPORA = {
    "oneruler_books": Corpus(
        READER, "oneruler", "books", serves=("haystacks", "books"), files=BOOKS
    ),
    "oneruler_nouns": Corpus(READER, "oneruler", "nouns", files=NOUNS),
    "oneruler_words": Corpus(
        READER, "oneruler", "words", serves=("words",), files=WORDS, packaged=("en",)
    ),
    "oneruler_prompts": Corpus(READER, "oneruler", "prompts", files=PROMPTS),
    "sample_books": Corpus(READER, serves=("haystacks", "books"), files=_in_sample(BOOKS)),
    "sample_nouns": Corpus(READER, files=_in_sample(NOUNS)),
    "sample_words": Corpus(READER, serves=("words",), files=_in_sample(WORDS)),
    "sample_prompts": Corpus(READER, files=_in_sample(PROMPTS)),
}
