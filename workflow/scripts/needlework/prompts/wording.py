"""The instructions of prompts: templates with placeholders, the paper's or a user's for a language.

Planning reads this, so it needs the standard library alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.data.corpora.registry import CORPORA
from needlework.errors import UserError
from needlework.folders import entries

if TYPE_CHECKING:
    from needlework.settings.registered import Instructions


# A benchmark's texts by name, each with its placeholders in their order.
Texts = Mapping[str, Sequence[str]]


def read_text(path: str | Path) -> str:
    """The text of a file that a user may have written. Raises UserError unless it is in UTF-8."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{path} is not in UTF-8: save it in that encoding.") from None


def pieces(text: str, placeholders: Sequence[str], where: str) -> list[str]:
    """The literal pieces of a prompt template around its placeholders, in the order given.

    A template holds every `{placeholder}` once, in this order; white space at its ends is dropped. Anything
    else in braces is an error, since a model would see it as text. `where` names the template.
    """
    text = text.strip()
    found = re.findall(r"\{([^{}]*)\}", text)
    if found != list(placeholders):
        wanted = " and ".join(f"{{{p}}}" for p in placeholders)
        wanted = f"{wanted}, once and in this order" if wanted else "no placeholder"
        raise UserError(
            f"{where}: the template must hold {wanted}; it holds "
            f"{', '.join(f'{{{p}}}' for p in found) or 'none'}."
        )
    return re.split(r"\{[^{}]*\}", text)


def read_template(path: str | Path, placeholders: Sequence[str]) -> list[str]:
    """The pieces of the template in a file."""
    return pieces(read_text(path), placeholders, str(path))


def user_texts(
    instructions: Mapping[str, Instructions], lang: str, names: Sequence[str]
) -> dict[str, str]:
    """A user's texts in a language, by the given names; empty if the paper's texts are used.

    `instructions` is a benchmark's key: by language, a folder of `<name>.txt` or a block of texts.
    """
    given = instructions.get(lang)
    if given is None:
        return {}
    if isinstance(given, str):
        paths = {name: Path(given) / f"{name}.txt" for name in names}
        return {name: read_text(path).strip() for name, path in paths.items() if path.is_file()}
    return {name: given[name].strip() for name in names if name in given}


def check_texts(
    where: str,
    instructions: Mapping[str, Instructions],
    texts: Texts,
    needed: Mapping[str, Sequence[str]],
) -> None:
    """Raise UserError if a user's texts are unknown to the benchmark, or some are missing.

    `where` is the key of `instructions`. `needed` has, by language, the names of the texts that this run's
    prompts need.
    """
    for lang, given in instructions.items():
        place = f"{where}.{lang}"
        if isinstance(given, str) and not Path(given).is_dir():
            raise UserError(f"{place}: {given} is not a folder: correct the path.")
        if not isinstance(given, str):
            for name in given:
                if name not in texts:
                    raise UserError(
                        f"{place} has the unknown text {name!r}: the texts are {', '.join(texts)}."
                    )
        for name, text in user_texts(instructions, lang, list(texts)).items():
            own = f"{place}.{name}" if not isinstance(given, str) else f"{given}/{name}.txt"
            if not text:
                raise UserError(f"{own} is empty: write the text.")
            pieces(text, texts[name], own)
        for name in needed.get(lang, ()):
            if name not in user_texts(instructions, lang, [name]):
                shown = f"the file {given}/{name}.txt" if isinstance(given, str) else f"{name!r}"
                holding = " and ".join(f"{{{p}}}" for p in texts[name])
                raise UserError(
                    f"{place} lacks {shown}, which the prompts of this run take: write it"
                    f"{f', with {holding} in this order' if holding else ''}."
                )


def papers_instructions(
    benchmark: str, needles: str, worded: Collection[str], languages: Sequence[str]
) -> list[str]:
    """A sentence if a user's questions are not in English but have the paper's English instructions.

    `needles` is the corpus of the questions. `worded` are the languages with instructions of the user's own.
    """
    lacking = sorted({lang for lang in languages if lang != "en"} - set(worded))
    if not lacking or needles in CORPORA:
        return []
    return [
        f"benchmarks.{benchmark}: the questions in {', '.join(lacking)} have the paper's instructions, in "
        f"English: `instructions` takes yours."
    ]


def all_texts(given: Any) -> dict[str, str]:
    """All texts of a language, from a folder or a block."""
    if isinstance(given, str):
        return {file.stem: read_text(file).strip() for file in entries(given, ".txt")}
    return dict(given)


class Templates:
    """The templates of a slice: the user's texts if there are any, otherwise the paper's files."""

    def __init__(self, texts: Mapping[str, str], files: Mapping[str, str], known: Texts) -> None:
        self._texts, self._files, self._known = texts, files, known
        self.of_user = bool(texts)

    def pieces(self, name: str) -> list[str]:
        """The literal pieces of the template of this name."""
        if name in self._texts:
            return pieces(self._texts[name], self._known[name], f"instructions.{name}")
        return read_template(self._files[name], self._known[name])

    def text(self, name: str, usual: str = "") -> str:
        """A user's text, or else `usual`; for texts that are in no file of the paper's prompts."""
        return self._texts.get(name, usual)
