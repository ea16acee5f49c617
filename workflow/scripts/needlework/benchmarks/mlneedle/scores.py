"""MLNeedle's scores: exact accuracy, existence accuracy, the released rules, and the second scorer."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from needlework.benchmarks.mlneedle.metrics import METRICS
from needlework.retrieval.embedders import load_embedder
from needlework.scoring.careful.verdicts import Verdict, of_words, of_yes_or_no
from needlework.scoring.metric import default
from needlework.scoring.metrics import exact_accuracy
from needlework.scoring.scores import Rating, score_rows, second

if TYPE_CHECKING:
    import numpy as np

    from needlework.benchmarks.mlneedle.settings import Mlneedle

# Existence accuracy: whether the answer says rightly that the passages hold the answer (MLNeedle).

# The words of the paper's prompt: the needle is absent, or present.
ENGLISH = ("No", "Yes")
# The choice said again ("Answer (Yes or No):", "Yes/No:") chooses nothing.
_CHOICE = re.compile(r"\b(?:yes\s*(?:or|/|\|)\s*no|no\s*(?:or|/|\|)\s*yes)\b", re.IGNORECASE)
# A number ("Document No. 3") and idioms that deny nothing.
_NO_VERDICT = re.compile(
    r"\bno\.?\s*[#(]?\d|\bno\s+(?:doubts?|question|problem|worries|matter|need)\b", re.I
)
_YES_OR_NO = re.compile(r"(?<![^\W_])(yes|no)(?![^\W_])", re.IGNORECASE)

_PASSAGES = r"(?:documents?|passages?|texts?|context|them|these|those)"
_HOLDS = r"(?:contain|include|hold|have|has|mention|provide|give|answer)s?"
# Whole sentences without either word.
_DENIED = re.compile(
    rf"\b(?:do|does|did)(?: not|n't|n’t) {_HOLDS}\b|\bnone of (?:the |these |those )?(?:\w+ )?{_PASSAGES}\b"
    rf"|\bno(?:ne)? (?:\w+ )?{_PASSAGES} {_HOLDS}\b|\b(?:is|are)(?: not|n't|n’t) (?:\w+ )?"
    r"(?:in|contained|found|present|included|mentioned|provided|given)\b|\bcannot be found\b",
    re.I,
)
_AFFIRMED = re.compile(
    rf"\b{_PASSAGES} (?:\w+ )?(?:do |does )?{_HOLDS}\b|\banswer (?:is|can be|was) (?:\w+ )?"
    r"(?:in|contained|found|present|included|mentioned|provided|given)\b",
    re.I,
)


def said(text: str) -> str | None:
    """The word that an English text asserts, "yes" or "no"; None if it asserts neither.

    The first "yes" or "no" that is a verdict counts, not one in "Yes or No", before a number ("Document
    No. 3") or in "no doubt". Without such a word, a sentence counts that says whether the passages hold the
    answer.
    """
    text = unicodedata.normalize("NFKC", text)
    lower = text.lower()
    no = "no" in lower
    if no or "yes" in lower:
        text = _NO_VERDICT.sub(" ", _CHOICE.sub(" ", text))
        found = _YES_OR_NO.search(text)
        if found:
            return found.group().lower()
    # Each denial has one of these in it.
    if (no or "n't" in lower or "n’t" in lower) and _DENIED.search(text):
        return "no"
    return "yes" if _AFFIRMED.search(text) else None


def said_in(text: str, words: Sequence[str]) -> str | None:
    """The first of the two `words` in a text. None if it has neither, or only repeats the choice.

    A word inside another word does not count, except in scripts without spaces. If one word is the end of the
    other, the longer one is found.
    """
    text = _folded(text)
    folded = {_folded(word): word for word in words}
    either = "|".join(map(re.escape, sorted(folded, key=len, reverse=True)))
    text = re.sub(rf"(?:{either})\s*[/|]\s*(?:{either})", " ", text)
    for pattern in (rf"(?<![^\W_])(?:{either})(?![^\W_])", rf"(?:{either})"):
        if found := re.search(pattern, text):
            return folded[found.group()]
        if not any(map(_spaceless, either)):
            return None
    return None


def _folded(text: str) -> str:
    """`text` in one case, in which Turkish letters with and without a dot are the same."""
    return unicodedata.normalize("NFKC", text).casefold().replace("i\u0307", "i").replace("ı", "i")


def _spaceless(character: str) -> bool:
    """Whether a character is of a script that writes no spaces between words."""
    name = unicodedata.name(character, "")
    return name.startswith(("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR"))


def existence_accuracy(
    prediction: str,
    translated: str | None,
    references: Sequence[str],
    words: Sequence[str] = ENGLISH,
) -> tuple[float, str]:
    """1.0 if the answer says Yes or No as the only reference does, and the verdict.

    `words` are the prompt's words for Yes and No. A user's own words are first looked for in the answer.

    An answer in another language is read in its translation, since a Spanish "no" may deny something else.
    If the translation says neither or is missing, the answer itself is read. The verdict says what was read
    and where, such as "no:raw", or is "no_verdict".
    """
    (reference,) = references
    if tuple(words) != ENGLISH and (verdict := said_in(prediction, words)):
        name = ENGLISH[list(words).index(verdict)].lower()
        return float(verdict == reference), f"{name}:raw"
    wanted = ENGLISH[list(words).index(reference)]
    for name, text in {"translated": translated or "", "raw": prediction}.items():
        if verdict := said(text):
            return float(verdict == wanted.lower()), f"{verdict}:{name}"
    return 0.0, "no_verdict"


# MLNeedle's released scorer, more lenient than the definition in the paper (`containment`).
#
# The facts are those of `compute_accuracy.py` and `utils.py` in AmeyHengle/
# multilingual-needle-in-a-haystack at d2e54e9; the program here is this project's own. Left out is the
# third part of the released "accuracy" column, a cosine of at least 0.95 between the embeddings of
# answer and reference by all-mpnet-base-v2, which the paper does not mention.

_JSON_PREAMBLE = "here is the answer in json format:"
_TO_SPACE = str.maketrans("\n\\/", "   ")
# "<" and ">" survive because they mark the empty answer; other scripts' punctuation always does.
_DROP = str.maketrans("", "", "".join(set(string.punctuation) - set("<>")))


def clean(text: str) -> str:
    """`text` as the released scorer compares it.

    Two quirks are kept: pairs of spaces are halved only twice, and an empty text becomes "<empty>", so that
    an empty answer holds the references "empty" and "e".
    """
    text = (text or "<Empty>").lower().replace(_JSON_PREAMBLE, "").strip()
    text = text.translate(_TO_SPACE).replace("  ", " ").replace(",", "")
    return text.replace("  ", " ").translate(_DROP).strip()


_cleaned_reference = lru_cache(maxsize=65536)(clean)


def released_accuracy(
    prediction: str, translated: str | None, references: Iterable[str]
) -> tuple[float, str]:
    """1.0 if the released scorer accepts the answer or its English translation, and the verdict.

    A reference is met if it is part of the text, or if each of its words is a word of the text. Three more
    quirks are kept. A reference that repeats a word cannot be met the second way: the released code counts
    the distinct words that occur, and wants as many as the reference has words. A reference that `clean`
    empties is part of every text. A reference may stand inside a word.

    The verdict is "match:<text>:<i>" (part of the text) or "words:<text>:<i>" (all words occur) with the
    first text ("raw", "translated") and reference that agree, else "no_match", or "empty" if there is no
    text at all.
    """
    texts = (
        {"raw": prediction} if translated is None else {"raw": prediction, "translated": translated}
    )
    references = [_cleaned_reference(reference) for reference in references]
    for name, text in texts.items():
        text = clean(text)
        words = set(text.split())
        for index, reference in enumerate(references):
            if reference in text:
                return 1.0, f"match:{name}:{index}"
            if len(words.intersection(reference.split())) == len(reference.split()):
                return 1.0, f"words:{name}:{index}"
    return 0.0, "no_match" if any(text.strip() for text in texts.values()) else "empty"


# MLNeedle's released scorer with its third clause: an answer also counts if it means almost the same.
#
# That is a cosine of at least 0.95 between the embeddings of answer and reference (the released code takes
# all-mpnet-base-v2). The paper does not mention it.

THRESHOLD = 0.95


class Semantic:
    """The metric `released_semantic` with one embedding model, an entry as under `embedders`.

    Each text is encoded once. `prepare` encodes many texts at once, which is faster than one by one.
    """

    def __init__(self, model: Mapping[str, object]) -> None:
        self._model = model
        self._vectors: dict[str, np.ndarray] = {}

    def prepare(self, texts: Iterable[str]) -> None:
        """Encode the texts that will be compared. Raises UserError if the model cannot be loaded."""
        new = [text for text in dict.fromkeys(texts) if text.strip() and text not in self._vectors]
        if new:
            embedder = load_embedder("released_semantic", self._model)
            self._vectors.update(zip(new, embedder.encode(new), strict=True))

    def score(
        self, prediction: str, translated: str | None, references: Iterable[str]
    ) -> tuple[float, str]:
        """The released scorer's score.

        If this is not 1.0 but a text is near a reference, 1.0 and "semantic:<text>:<i>".
        """
        references = list(references)
        value, verdict = released_accuracy(prediction, translated, references)
        if value:
            return value, verdict
        texts = {"raw": prediction or "", "translated": translated or ""}
        self.prepare([*texts.values(), *references])
        for name, text in texts.items():
            for index, reference in enumerate(references):
                if self._near(text, reference):
                    return 1.0, f"semantic:{name}:{index}"
        return value, verdict

    def _near(self, text: str, reference: str) -> bool:
        if not (text.strip() and reference.strip()):
            return False
        return float(self._vectors[text] @ self._vectors[reference]) >= THRESHOLD


# The second scorer's verdicts on MLNeedle's answers.


def exact_verdict(
    text: str, translated: str | None, references: Sequence[str], langs: Sequence[str]
) -> Verdict:
    """1.0 if an answer or its English translation asserts any reference, and the verdict."""
    own = of_words(text, references, langs)
    if translated is None:
        return own
    # A language without phrases shows only in English what an answer does with a reference.
    english = of_words(translated, references, langs)
    if "other" in (own[1], english[1]):
        return english if own[1] == "other" else own
    return own if own[0] == english[0] else (None, "apart")


def existence_verdict(
    text: str,
    translated: str | None,
    reference: str,
    langs: Sequence[str],
    words: Sequence[str] = ENGLISH,
) -> Verdict:
    """1.0 if an answer says Yes or No like the reference, and the verdict.

    `words` are the prompt's words for Yes and No. A user's own words are looked for first.
    """
    wanted = ENGLISH[list(words).index(reference)].casefold()
    said = None
    if tuple(words) != ENGLISH and (found := said_in(text, words)):
        said = ENGLISH[list(words).index(found)].casefold()
    said = said or of_yes_or_no(text, langs)
    if said is None and translated is not None:
        said = of_yes_or_no(translated)
    if said is None:
        return (None, "unclear") if text.strip() else (0.0, "empty")
    return float(said == wanted), said


_LANGUAGES = ("question_lang", "needle_lang", "haystack_lang")


def careful(row: Mapping[str, Any], text: str, translated: str | None) -> Verdict:
    """The second scorer's verdict on an answer to the instance `row`."""
    langs = [lang for name in _LANGUAGES if (lang := row.get(name))]
    if row["task"] == "existence":
        words = row.get("accepted") or ENGLISH
        return existence_verdict(text, translated, row["references"][0], langs, words)
    return exact_verdict(text, translated, row["references"], langs)


# Value and verdict of an answer, its English translation and the references.
Rated = Callable[[str, str | None, Sequence[str]], tuple[float, str]]


def metric(settings: Mlneedle) -> Rated:
    """The metric that `settings` choose.

    For "careful", the default metric, whose value an undecided answer keeps.
    """
    chosen = METRICS[settings.metric]
    if chosen.embedder:
        return Semantic(chosen.embedder).score
    found: Rated = globals()[
        METRICS[default(METRICS)].function if chosen.beside else chosen.function
    ]
    return found


def score(
    instances: pa.Table,
    generations: pa.Table,
    translations: pa.Table | None,
    *,
    model: str,
    settings: Mlneedle,
) -> pa.Table:
    """The scores of `generations`, as `needlework.scoring.scores.score_rows` returns them.

    Answers to "exact" and "closed_book" have the metric `settings.metric`. Answers to "existence" are scored
    by their Yes or No. If an answer has a translation, the better of the two counts. All answers have the
    metric "careful" too.
    """
    chosen, by_chosen = METRICS[settings.metric], metric(settings)
    if isinstance(owner := getattr(by_chosen, "__self__", None), Semantic):
        _prepare(owner, instances, generations, translations)

    def rate(row: Mapping[str, Any], text: str, translated: str | None) -> Rating:
        references = row["references"]
        if row["task"] == "existence":
            words = row.get("accepted") or ENGLISH
            first = existence_accuracy(text, translated, references, words)
            rated = (*first, "existence")
        else:
            first = exact_accuracy(text, translated, references)
            seen = row["raw_text"] if chosen.raw else text
            own = first if by_chosen is exact_accuracy else by_chosen(seen, translated, references)
            rated = (*own, chosen.name)
        verdict = second(careful(row, text, translated), first[0])
        return [verdict] if chosen.beside else [rated, verdict]

    return score_rows(instances, generations, rate, model=model, translations=translations)


def _prepare(
    semantic: Semantic, instances: pa.Table, generations: pa.Table, translations: pa.Table | None
) -> None:
    """Encode all texts at once."""
    semantic.prepare(text for texts in instances["references"].to_pylist() for text in texts)
    for table, column in ((generations, "text"), (generations, "raw_text"), (translations, "text")):
        if table is not None:
            semantic.prepare(text or "" for text in table[column].to_pylist())
