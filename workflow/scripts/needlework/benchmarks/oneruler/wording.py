"""Words of ONERULER's prompts that scoring reads: the question's own, and "none" of each language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from needlework import safe_yaml
from needlework.errors import UserError


class Wording(NamedTuple):
    """The ways to say "there is no such number" in a language (or in one of its alphabets).

    Each field is a list of phrases, separated by semicolons. In phrases,

    - `*` is any ending of a word,
    - `#` a `number`, with any of `such` before it,
    - `…` anything within a sentence, but not much,
    - `~` a few words up to the next comma, or none,
    - `^` the beginning of a sentence, `.` its end or a comma,
    - `(a |b )?` one or the other, or neither, as in regular expressions.
    """

    # What may be missing.
    number: str
    # What may stand before `number`.
    such: str
    # Count only where they stand by themselves: as the answer, a sentence or a line, in quotation marks, or
    # behind a colon.
    alone: str
    # Count wherever their words stand.
    said: str


# How each language says that there is no such number, and the names of its answer tag.
#
# The phrases are data that scoring alone reads (resources/oneruler/none_phrases.yaml).
# `benchmarks.oneruler.strict` reads answers with them.

PHRASES = Path(__file__).resolve().parents[5] / "resources/oneruler/none_phrases.yaml"

# <Answer> ... </Answer> as the released prompts ask for it, and as models write it in any language.
ANSWER_TAGS = (
    *("answer", "odpověď", "svar", "antwort", "respuesta", "پاسخ", "vastaus", "réponse", "उत्तर"),
    *("válasz", "risposta", "答え", "答案", "답변", "antwoord", "odpowiedź", "resposta", "ответ"),
    *("odgovor", "одговор", "karabo", "jibu", "விடை", "відповідь", "câu trả lời", "回答", "정답"),
    *("جواب", "trả lời", "solución", "解答"),
)


@cache
def phrases(path: str | Path = PHRASES) -> dict[str, tuple[Wording, ...]]:
    """The wordings of each language. Raises UserError if the file is not in the form that it describes."""
    import yaml

    try:
        content = safe_yaml.read(path)
        return {
            lang: tuple(Wording(**wording) for wording in wordings)
            for lang, wordings in content.items()
        }
    except (OSError, yaml.YAMLError, AttributeError, TypeError, ValueError) as error:
        raise UserError(
            f"{path} is not a valid file of phrases ({error}): correct it as its first lines say."
        ) from None


def languages(path: str | Path = PHRASES) -> list[str]:
    """The languages in the file, found without parsing YAML, since each planning asks for them."""
    text = Path(path).read_text(encoding="utf-8")
    return sorted(re.findall(r'^"?([a-z0-9]+)"?:', text, re.MULTILINE))


def check(wanted: Iterable[str], more: Mapping[str, Sequence[str]]) -> None:
    """Raises UserError if one of the instructions' languages has no word for "none".

    `more` are the configured words by language, beside those of the file.
    """
    known = languages()
    for lang in wanted:
        if lang not in known and not more.get(lang):
            raise UserError(
                f"benchmarks.oneruler.none_words has no words for the language {lang!r}, and it is not "
                f"among the known ones ({', '.join(known)}): give the word or words that say in an "
                "answer that there is no such number."
            )
