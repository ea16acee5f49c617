"""Answers in English: the language of a text, its translation, and the losses of translation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from needlework.errors import UserError
from needlework.jobs.progress import progress
from needlework.jobs.stop import check_stop
from needlework.journal import Journal, Record
from needlework.records import TRANSLATIONS
from needlework.scoring.translators.base import Translator

# The languages of all benchmarks: the fewer there are to confuse, the better short texts are told.
# fmt: off
LANGUAGES = (
    "ar", "az", "cs", "da", "de", "el", "en", "es", "fa", "fi", "fr", "hi", "hu", "id", "it", "ja", "ko",
    "nl", "no", "pl", "pt", "ro", "ru", "so", "sr", "st", "sv", "sw", "ta", "th", "tr", "uk", "vi", "zh",
)
# fmt: on
UNKNOWN = "und"

CEILING = pa.schema([("lang", pa.string()), ("n", pa.int64()), ("n_survived", pa.int64())])

Metric = Callable[[str, str | None, Sequence[str]], tuple[float, str]]


class Translated(NamedTuple):
    """A text in English, and its original language (ISO 639-1), "und" if unknown or not identified."""

    lang: str
    text: str


@cache
def _detector() -> Any:
    from lingua import IsoCode639_1, LanguageDetectorBuilder

    # Lingua's Norwegian is Bokmål.
    codes = ["nb" if code == "no" else code for code in LANGUAGES]
    return LanguageDetectorBuilder.from_iso_codes_639_1(
        *(IsoCode639_1.from_str(code) for code in codes)
    ).build()


def identify(texts: Sequence[str]) -> list[str]:
    """The language of each text: one of LANGUAGES, or "und" if it has no letter of their scripts.

    On a few words (an answer, a name) this is a guess; on a sentence it is nearly always right.
    """
    detected = _detector().detect_languages_in_parallel_of(list(texts))
    codes = [UNKNOWN if d is None else d.iso_code_639_1.name.lower() for d in detected]
    return ["no" if code == "nb" else code for code in codes]


def translate(texts: Iterable[str], translator: Translator, cache: str | Path) -> list[Translated]:
    """Translate each text to English, in order. English texts and texts without letters stay unchanged.

    A translator that does not need the languages gets "und" for all. Each distinct text is translated once.
    Its translation is saved at once in the journal `cache`, under a key made of the translator's identity,
    the language and the text, so a kill or an error loses only the texts that are being translated. Raises
    Raises UserError if the translator fails for good.
    """
    texts = list(texts)
    distinct = list(dict.fromkeys(texts))
    found = identify(distinct) if translator.needs_languages else [UNKNOWN] * len(distinct)
    languages = dict(zip(distinct, found, strict=True))
    english = {text: text for text in distinct}
    foreign = [t for t in distinct if languages[t] != "en" and any(map(str.isalpha, t))]
    # Texts of a language and length together: less padding, and one language to a batch.
    foreign.sort(key=lambda text: (languages[text], len(text), text))

    identity = translator.identity()
    keys = {} if identity is None else {t: _key(identity, languages[t], t) for t in foreign}
    with Journal(cache) as journal:
        known = journal.settled(set(keys.values()), _holds) if keys else {}
        pending = [text for text in foreign if keys.get(text) not in known]
        size = translator.batch_size
        starts = range(0, len(pending), size)
        for start in progress(starts, desc="translate", unit="block"):
            check_stop()
            batch = pending[start : start + size]
            with closing(translator.arriving(batch, [languages[t] for t in batch])) as arriving:
                for some in arriving:
                    done = {batch[place]: _well_formed(text) for place, text in some.items()}
                    journal.append({"key": keys[t], "text": done[t]} for t in done if t in keys)
                    english |= done
        if pending and keys:
            # Another run may have translated the same meanwhile, and have ended with that.
            known = journal.settled(set(keys.values()), _holds)
        english |= {text: known[key]["text"] for text, key in keys.items()}
    english |= {text: translator.cleaned(english[text]) for text in foreign}
    return [Translated(languages[text], english[text]) for text in texts]


def _holds(record: Record) -> bool:
    """Whether a record of the journal is a translation; a damaged one may not be."""
    return isinstance(record.get("text"), str)


def _well_formed(text: str) -> str:
    """`text` without lone surrogates, which a service's JSON can hold and a table cannot."""
    return text.encode("utf-8", "replace").decode()


def _key(identity: Mapping[str, object], language: str, text: str) -> str:
    content = json.dumps([identity, language, text], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def translate_generations(
    generations: pa.Table, translator: Translator, cache: str | Path
) -> pa.Table:
    """The rows of TRANSLATIONS for `generations` (instance_id, sample, text), in the same order."""
    answers = [text or "" for text in generations["text"].to_pylist()]
    translations = translate(answers, translator, cache)
    return pa.table(
        {
            "instance_id": generations["instance_id"],
            "sample": generations["sample"],
            "lang": [translation.lang for translation in translations],
            "text": [translation.text for translation in translations],
        },
        schema=TRANSLATIONS,
    )


def translation_ceiling(
    questions: Mapping[str, pa.Table], translator: Translator, cache: str | Path, metric: Metric
) -> pa.Table:
    """How many gold answers survive the translation that the models' answers go through.

    `questions` are aligned QUESTIONS tables by language, English among them. `n` is the number of a
    language's answers to questions that English has too. `n_survived` is how many of them are right after
    translation: `metric` (a metric module's `score`) compares them with the English answers. English itself
    is left out. Raises UserError if the English answers are missing.
    """
    if "en" not in questions:
        raise UserError(
            "the loss of translation into English cannot be measured without the English answers: add "
            "en to the benchmark's `answer_languages`."
        )
    gold = _answers(questions["en"])
    pairs = [
        (lang, answer, gold[example])
        for lang, table in questions.items()
        if lang != "en"
        for example, answers in _answers(table).items()
        if example in gold
        for answer in answers
    ]
    english = translate((answer for _, answer, _ in pairs), translator, cache)
    counts = {lang: [0, 0] for lang in questions if lang != "en"}
    for (lang, _, references), translation in zip(pairs, english, strict=True):
        counts[lang][0] += 1
        counts[lang][1] += int(metric(translation.text, None, references)[0])
    rows = [{"lang": lang, "n": n, "n_survived": s} for lang, (n, s) in counts.items()]
    return pa.Table.from_pylist(rows, schema=CEILING)


def _answers(table: pa.Table) -> dict[str, list[str]]:
    return dict(zip(table["example_id"].to_pylist(), table["answers"].to_pylist(), strict=True))
