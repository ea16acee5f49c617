"""The frame of a prompt: the wording around its items, filled in or found again in a finished text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from needlework import safe_yaml
from needlework.errors import UserError


class Item(NamedTuple):
    """A document of a prompt; `id` is what the prompt calls it, "" where it has no name there."""

    text: str
    title: str = ""
    id: str = ""


class Piece(NamedTuple):
    """Characters [start, end) of a prompt, and what they are (`prompt.ROLES`)."""

    role: str
    start: int
    end: int


class Cut(NamedTuple):
    """A prompt in its pieces: the starts of its items, their ids, and the asked one's id."""

    instruction: str
    example_end: int
    items: list[int]
    items_end: int
    question: int
    ids: list[str]
    values: dict[str, str]


class Frame(NamedTuple):
    """The wording of a task's prompts (resources/m4le/frames.yaml says what each part is)."""

    instruction: str
    item: str
    end: str
    ids: str
    example: str = ""
    opening: str = ""
    join: str | None = None
    late: str = ""
    other_end: str = ""
    answer: str = "{answer}"
    id_join: str = ""


# The texts of a frame in their order, and those that a user's wording may leave out.
TEXTS = ("instruction", "example", "opening", "item", "late", "end", "answer")
OPTIONAL = ("example", "late")


class Rendered(NamedTuple):
    """A prompt's text, and its pieces in order, which join to it."""

    text: str
    pieces: list[Piece]


def load_frames(path: str | Path) -> dict[str, Frame]:
    """The frames of all tasks, by name. UserError if the file holds anything else."""
    import yaml  # Planning reads this module with the standard library alone.

    try:
        entries = safe_yaml.read(path)
        return {name: Frame(**entry) for name, entry in entries.items()}
    except (OSError, yaml.YAMLError, TypeError, AttributeError) as error:
        raise UserError(f"{path} holds no frames of prompts ({error}): restore the file.") from None


def texts_of(frame: Frame) -> dict[str, tuple[str, ...]]:
    """The texts of a frame that have words, which a user may write anew, each with its placeholders.

    An example is a text of a prompt, whether the frame has one or not.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name in TEXTS:
        literal = re.sub(r"\{\w+\}", "", text := getattr(frame, name))
        if name == "example":
            found[name] = ()
        elif re.search(r"\w", literal):
            found[name] = tuple(re.findall(r"\{(\w+)\}", text))
    return found


def worded(frame: Frame, texts: Mapping[str, str]) -> Frame:
    """The frame with a user's texts in the place of all those of `texts_of`; one that lacks is left out.

    The white space around the frame's texts stays, and what has no words: ids, and what joins items.
    """
    own = {}
    for name in texts_of(frame):
        text, paper = texts.get(name, ""), getattr(frame, name) or "\n\n"
        before = paper[: len(paper) - len(paper.lstrip())] if paper.strip() else ""
        own[name] = text and before + text + paper[len(paper.rstrip()) :]
    return frame._replace(**own)


def render(
    frame: Frame, items: Sequence[Item], values: Mapping[str, str], needles: Collection[int]
) -> Rendered:
    """The prompt of `items`; those at the places `needles` are needles, the others distractors.

    Without needles all items are haystack. `values` fill the frame's placeholders beside the items.
    """
    others = "distractor" if needles else "haystack"
    parts = [("instruction", fill(frame.instruction, values) + "\n")]
    parts.append(("example", fill(frame.example, values)))
    parts.append(("question", fill(frame.opening, values)))
    for place, item in enumerate(items):
        before = frame.join if place else ""
        text = (before or "") + fill(frame.item, item._asdict())
        parts.append(("needle" if place in needles else others, text))
    parts.append(("example", fill(frame.late, values)))
    parts.append(("question", fill(frame.end, values)))
    pieces, end = [], 0
    for role, text in parts:
        if text:
            pieces.append(Piece(role, end, end + len(text)))
            end += len(text)
    return Rendered("".join(text for _, text in parts), pieces)


def fill(template: str, values: Mapping[str, str]) -> str:
    """The template with its `{placeholders}` replaced, once: a value's own braces stay."""
    return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], template)


def cut(frame: Frame, instruction: str, text: str) -> Cut | None:
    """The frame, found in an `instruction` and the `text` that follows it; None if it is not there.

    All places are in `text`.
    """
    if not _pattern(frame.instruction).fullmatch(instruction):
        return None
    head = _pattern(frame.example).match(text)
    if head is None:
        return None
    found = None
    for template in filter(None, (frame.late + frame.end, frame.other_end)):
        found = found or _last(template, text, head.end())
    if found is None:
        return None
    end, values = found
    start = head.end()
    if frame.opening:
        # A query may hold line ends, so the opening ends where the first item begins.
        opened = _pattern(frame.opening + _prefix(frame)).match(text, start, end)
        if opened is None:
            return None
        values |= {k: v for k, v in opened.groupdict().items() if k != "id"}
        closing = re.compile(_regex(_prefix(frame)) + r"\Z")
        inner = closing.search(text, start, opened.end())
        # The shortest opening that is followed by an item.
        start = opened.start("id") if inner is None else inner.start()
    ids, starts = _items(frame, text, start, end)
    if not starts or starts[0] != start:
        return None
    question = end + len(_filled_late(frame, text, end))
    return Cut(instruction, head.end(), starts, end, question, ids, values)


def pieces(frame: Frame, found: Cut, length: int, needles: Collection[int]) -> list[Piece]:
    """The pieces of `instruction + "\\n" + text` as `render` gives them; `length` is that of the text."""
    shift = len(found.instruction) + 1
    others = "distractor" if needles else "haystack"
    edges = [("instruction", -shift), ("example", 0), ("question", found.example_end)]
    for place, start in enumerate(found.items):
        # What parts two items belongs to the second.
        before = len(frame.join or "") if place else 0
        edges.append(("needle" if place in needles else others, start - before))
    edges += [("example", found.items_end), ("question", found.question), ("", length)]
    return [
        Piece(role, start + shift, end + shift)
        for (role, start), (_, end) in pairwise(edges)
        if end > start
    ]


def _filled_late(frame: Frame, text: str, end: int) -> str:
    late = _pattern(frame.late).match(text, end) if frame.late else None
    return late[0] if late else ""


def _last(template: str, text: str, start: int) -> tuple[int, dict[str, str]] | None:
    """Where the template's last occurrence begins that ends the text, and its values."""
    literal = re.split(r"\{\w+\}", template, maxsplit=1)[0]
    pattern = _pattern(template)
    place = text.rfind(literal)
    while place >= start:
        if found := pattern.fullmatch(text, place):
            return place, found.groupdict()
        place = text.rfind(literal, 0, place + len(literal) - 1) if place else -1
    return None


def _items(frame: Frame, text: str, start: int, end: int) -> tuple[list[str], list[int]]:
    """The ids of the items in text[start:end], and where they begin."""
    prefix = _prefix(frame)
    if frame.join is None:
        return ([""], [start]) if text.startswith(prefix, start) else ([], [])
    if frame.ids == "number":
        return _numbered(frame, prefix, text, start, end)
    pattern = re.compile(f"(?:^|(?<={re.escape(frame.join)}))" + _regex(prefix))
    found = [m for m in pattern.finditer(text, start, end) if m.start() >= start]
    # `^` is the beginning of the whole text; the first item stands behind the example.
    first = re.compile(_regex(prefix)).match(text, start, end)
    if first and (not found or found[0].start() != start):
        found.insert(0, first)
    return [m.groupdict().get("id") or "" for m in found], [m.start() for m in found]


def _numbered(
    frame: Frame, prefix: str, text: str, start: int, end: int
) -> tuple[list[str], list[int]]:
    """Items called 1, 2, ...: each is looked for behind the one before it."""
    starts: list[int] = []
    place = start if text.startswith(fill(prefix, {"id": "1"}), start) else -1
    while 0 <= place < end:
        starts.append(place)
        sought = (frame.join or "") + fill(prefix, {"id": str(len(starts) + 1)})
        place = text.find(sought, place, end)
        place += len(frame.join or "") if place >= 0 else 0
    return [str(number) for number in range(1, len(starts) + 1)], starts


def _prefix(frame: Frame) -> str:
    """The beginning of an item: up to its text or title, the title too where it is the item's name."""
    until = r"\{text\}" if frame.ids == "title" else r"\{(?:title|text)\}"
    return re.split(until, frame.item, maxsplit=1)[0]


_GROUPS = {"id": "[0-9A-F]{6}", "n": r"\d+", "next": r"\d+", "title": r"[^\n]*?"}


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(_regex(template), re.DOTALL)


def _regex(template: str) -> str:
    seen: set[str] = set()

    def parts() -> Iterator[str]:
        for place, part in enumerate(re.split(r"\{(\w+)\}", template)):
            if place % 2 == 0:
                yield re.escape(part)
            elif part in seen:
                yield f"(?P={part})"
            else:
                seen.add(part)
                named = part.startswith("example_") or part == "last"
                yield f"(?P<{part}>{_GROUPS.get('id' if named else part, '.*?')})"

    return "".join(parts())
