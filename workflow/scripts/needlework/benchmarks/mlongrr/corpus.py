"""mLongRR: the released haystacks with their needles, the articles they were cut from, and the needles.

The haystacks are released at github.com/PortNLP/mLongRR as CSV files, without the articles. But apart from
white space, all haystacks of a language are slices of one text: its haystack of 64k without the needle.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa

from needlework.benchmarks.mlongrr import prompt_files as tables
from needlework.data import english_punkt
from needlework.data import sentences as general
from needlework.data.corpora.books import BOOKS
from needlework.data.words import word_starts
from needlework.errors import UserError

# Texts to cut haystacks from. Fertility (tokens a word) is measured on the first `measured` characters,
# which have `words` words.
ARTICLES = pa.schema([*BOOKS, ("measured", pa.int32()), ("words", pa.int32())])

# A haystack with its needles: `needle_starts` in characters, `cities` as the needles name them;
# `sentences` of the haystack, and those before each needle.
RELEASED = pa.schema(
    [
        ("passage_id", pa.string()),
        ("text", pa.string()),
        ("length", pa.int32()),
        ("depth", pa.int32()),
        ("needles", pa.list_(pa.string())),
        ("needle_starts", pa.list_(pa.int32())),
        ("cities", pa.list_(pa.string())),
        ("numbers", pa.list_(pa.string())),
        ("sentences", pa.int32()),
        ("sentences_before", pa.list_(pa.int32())),
    ]
)

# What prompts are made of: `kind` is needle, city or prompt, `values` as `needle_table` gives them.
NEEDLES = pa.schema(
    [("kind", pa.string()), ("key", pa.string()), ("values", pa.list_(pa.string()))]
)

_MODEL = "english_punkt.txt"

# The rows of a corpus of articles: as they are, and with their sentences joined by a space.
RAW, JOINED = "articles", "sentences"
# The languages whose sentences the paper's code cut, all by Punkt's English model.
PAPER_LANGUAGES = ("en", "vi", "id", "sw", "so", "az")
# Where the authors' first 50 articles end, in characters: their tokens a word are ours to five digits. Of
# other languages the end is unknown.
FIFTY_ARTICLES = {"sw": 181_470, "so": 171_088}
# More text does not improve the estimate of a language's tokens a word.
_MEASURED = 300_000


def table(corpus: str, lang: str, files: Sequence[str], settings: Mapping[str, object]) -> pa.Table:
    """The corpus in `lang`, as the rule `read_corpus` asks for it.

    `mlongrr_articles` and `paul_graham_essays` (ARTICLES), `mlongrr_released_one` and
    `mlongrr_released_three` (RELEASED), or `mlongrr_needles` and `sample_needles` (NEEDLES).
    """
    if corpus.endswith("_needles"):
        return needle_table(lang, files)
    data = [file for file in files if file.endswith(".csv") and Path(file).name != "needles.csv"]
    if corpus.startswith("mlongrr_released"):
        return released(data[0], _needle(files, lang), _model(files))
    model = _model(files)
    if data:
        return articles(
            stream(data[0], _needle(files, lang)), lang, model, FIFTY_ARTICLES.get(lang, _MEASURED)
        )
    own = (Path(f) for f in files if f.endswith(".txt") and Path(f).name != _MODEL)
    return articles("\n".join(map(_read, own)), lang, model)


def _needle(files: Sequence[str], lang: str) -> str:
    return tables.needles(files, "released")[lang]


def _model(files: Sequence[str]) -> english_punkt.Model:
    return english_punkt.load(next(file for file in files if Path(file).name == _MODEL))


def articles(
    text: str, lang: str, model: english_punkt.Model, measured: int = _MEASURED
) -> pa.Table:
    """ARTICLES rows of a text: RAW, and JOINED with one space between sentences.

    In the paper's languages, sentences and words are NLTK's. In other languages they are those of
    `needlework.data.sentences` and `needlework.data.words`, and there is only the row JOINED. Raises Raises
    UserError if the text has fewer than two sentences.
    """
    if lang in PAPER_LANGUAGES:
        spans = english_punkt.sentences(text, model)
        found, joiner = [text[start:end] for start, end in spans], " "
        rows = [(RAW, text, [start for start, _ in spans])]
        words = english_punkt.count_words(text[:measured], model)
    else:
        rules = general.rules(lang)
        found, joiner, rows = general.split(text, rules), rules.joiner, []
        text = joiner.join(found)
        words = len(word_starts(text[:measured]))
    if len(found) < 2:
        raise UserError(
            f"the haystack in {lang!r} has {len(found)} sentences, but needles stand between two: put a "
            f"longer text into the folder of sources.mlongrr.folder ({lang}/*.txt)."
        )
    ends = accumulate((len(sentence) + len(joiner) for sentence in found), initial=0)
    rows.append((JOINED, joiner.join(found), list(ends)[:-1]))
    known = min(measured, len(text)), words
    return pa.table(
        [list(column) for column in zip(*((*row, *known) for row in rows), strict=True)],
        schema=ARTICLES,
    )


def stream(path: str | Path, needle: str) -> str:
    """The text of a released file: its longest haystack with the needle at its end, without the needle."""
    last = [row for row in _released_rows(path, needle) if row["depth"] == 100]
    if not last:
        raise UserError(f"{path} has no row with the position 100: download it again.")
    row = max(last, key=lambda row: row["length"])
    text: str = row["text"][: row["needle_starts"][0] - 1]
    return text


def released(path: str | Path, needle: str, model: english_punkt.Model) -> pa.Table:
    """RELEASED rows, in the file's order.

    A `needle` has {city} and {number}. Raises UserError if a column is missing, a number has not seven digits
    or stands in two rows, or a needle does not stand exactly once in its text.
    """
    rows = list(_released_rows(path, needle))
    for row in rows:
        # No sentence spans a needle.
        starts = row["needle_starts"]
        ends = (start + len(text) for start, text in zip(starts, row["needles"], strict=True))
        pieces = zip((0, *ends), (*starts, None), strict=True)
        counts = [len(english_punkt.sentences(row["text"][i:j], model)) for i, j in pieces]
        row |= {"sentences": sum(counts), "sentences_before": list(accumulate(counts))[:-1]}
    return pa.Table.from_pylist(rows, schema=RELEASED)


def _released_rows(path: str | Path, needle: str) -> Iterator[dict[str, Any]]:
    """The columns RELEASED but those of sentences."""
    seen: set[str] = set()
    read = tables.read_rows(path, ("context_length", "position", "text"))
    for line, row in enumerate(read, start=1):
        where = f"{path}, row {line}"
        pairs = _pairs(row, where)
        made = [needle.format(city=city, number=number) for city, number in pairs]
        for text in made:
            times = row["text"].count(text)
            if times != 1:
                raise UserError(
                    f"{where}: the needle {text!r} occurs {times} times in the text instead of once: "
                    "download the file again."
                )
        for _, number in pairs:
            if not re.fullmatch(r"[1-9]\d{6}", number) or number in seen:
                raise UserError(
                    f"{where}: the label {number!r} is not a new number of seven digits: download the file "
                    "again."
                )
            seen.add(number)
        in_k = re.fullmatch(r"(\d+)k", row["context_length"])
        if not in_k or not re.fullmatch(r"\d{1,3}", row["position"]):
            raise UserError(
                f"{where}: context_length {row['context_length']!r} and position {row['position']!r} are not "
                "a length such as 8k and a depth such as 25: download the file again."
            )
        length, depth = int(in_k[1]) * 1000, int(row["position"])
        yield {
            "passage_id": f"{len(pairs)}-{length}-{depth}",
            "text": row["text"],
            "length": length,
            "depth": depth,
            "needles": made,
            "needle_starts": [row["text"].index(text) for text in made],
            "cities": [city for city, _ in pairs],
            "numbers": [number for _, number in pairs],
        }


def _pairs(row: Mapping[str, str], where: str) -> list[tuple[str, str]]:
    """The city and number of each needle of a row, in the order of the text."""
    names = [("city", "label")] if "label1" not in row else []
    names += [(f"city{i}", f"label{i}") for i in range(1, 10) if f"label{i}" in row]
    for pair in names:
        for column in pair:
            if column not in row:
                raise UserError(f"{where} has no column {column!r}: download the file again.")
    return [(row[city], row[label]) for city, label in names]


def needle_table(lang: str, files: Sequence[str]) -> pa.Table:
    """NEEDLES rows in `lang`: the needle in either wording, every city, every prompt.

    A needle has its text as values. A city has its English name and its name in `lang`. A prompt (key: name,
    number of needles, question, language as JSON) has the fields of `prompt_files.Prompt`. Raises UserError
    if the language has no needle or no cities, or a table is not valid.
    """
    rows: list[tuple[str, str, list[str]]] = []
    for wording in ("paper", "released"):
        needles = tables.needles(files, wording)
        if lang not in needles:
            raise UserError(
                f"there is no needle in {lang!r}, only in {', '.join(sorted(needles))}: add a row "
                "to needles.csv in the folder of sources.mlongrr.folder."
            )
        rows.append(("needle", wording, [needles[lang]]))
    rows += [
        ("city", str(row), list(names)) for row, names in enumerate(tables.cities(files, lang))
    ]
    rows += [
        ("prompt", json.dumps(key), list(prompt))
        for key, prompt in tables.prompts(files).items()
        if key.lang in ("en", lang)
    ]
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=NEEDLES)


def _read(path: Path) -> str:
    try:
        # Not `read_text`, which would also change a lone carriage return.
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise UserError(f"{path} is not in UTF-8: save it in that encoding.") from None
