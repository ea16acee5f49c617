"""A drawing with its data: rows, their order, names and looks, and the small print."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from needlework.data.language_names import language_name
from needlework.factor import Factor
from needlework.results.columns import MARKED
from needlework.results.drawing.style import (
    MOST_COLOURED,
    PRINTING,
    PUBLISHED_COLOUR,
    REST,
    Printing,
    looks,
    ordered_colours,
)
from needlework.results.result import Drawing, Heatmap, Look, Run, model_order

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

PAPER, OTHERS = " (paper)", " other models"
# Of lines whose model has no line of ours.
PUBLISHED_MARKERS = "<>*hp8dHPX1234"
# More lines than these in one panel are not told apart; of the paper's own, more are not named.
MOST_LINES, MOST_PUBLISHED = 7, 4
# A longer legend has one entry for what the paper says of our models.
MOST_ENTRIES = 10
SAME = f"the same models{PAPER}"


class NothingToDraw(Exception):
    """A drawing has no number to show; the message says why."""


@dataclass(frozen=True)
class DrawnLine:
    """A line, or the bars of one kind; `key` is its source and value."""

    key: tuple[str, Any]
    label: str
    paper_label: str
    look: Look
    rows: pd.DataFrame

    @property
    def rest(self) -> bool:
        """Whether the line is without a colour of its own."""
        return self.look == REST


@dataclass(frozen=True)
class Picture:
    """The data of a drawing, with what the run says of them.

    Data also have the column `paper_value`, the paper's number, and `incomplete`, if answers are missing
    (`MARKED`).
    """

    spec: Drawing
    # The result's rows.
    frame: pd.DataFrame
    # The same rows, as the drawing's function `prepare` made them.
    data: pd.DataFrame
    factors: Mapping[str, Factor]
    run: Run
    printing: Printing = PRINTING
    # Whether there are marks of too few answers.
    few: bool = False

    @classmethod
    def of(
        cls,
        spec: Drawing,
        frame: pd.DataFrame,
        factors: Mapping[str, Factor],
        run: Run,
        printing: Printing = PRINTING,
    ) -> Picture:
        """The picture of these rows. Raises NothingToDraw if they have no number of ours."""
        if spec.where:
            frame = frame.query(spec.where.format_map(run), engine="python")
        frame = frame.reset_index(drop=True)
        data = frame if "source" in frame else frame.assign(source="ours")
        if spec.prepare and len(data):
            data = spec.prepare(data, run)
        empty = data[spec.column] * float("nan")
        theirs = data["published"].astype("float64") if "published" in data else empty
        # A model of the paper's that was not run has its number as `value`.
        data = data.assign(paper_value=theirs.where(data["source"] == "ours", data[spec.column]))
        # Without rows, a file's columns have no type to compute with.
        counts = len(data) and {"lowest", "n_skipped", "n_error"} <= set(data)
        marked = data.index.isin(data.query(MARKED).index) if counts else False
        data = data.assign(incomplete=marked)
        # Rows are chosen many times, which takes three times as long with columns of Arrow's strings.
        data = data.astype(dict.fromkeys(data.select_dtypes("str"), "object"))
        data = data.assign(few=few_answers(spec, data))
        few = bool(data["few"].any())
        # Cells of too few answers are numbers without a colour, since a map is more than each of its cells.
        if not isinstance(spec, Heatmap):
            data = data[~data["few"]]
        ours = data[data["source"] == "ours"]
        if spec.panel not in ("", "model"):
            # No panel is of the paper's numbers alone.
            data = data[data[spec.panel].isin(ours[spec.panel]) | data[spec.panel].isna()]
        picture = cls(spec, frame, data, factors, run, printing, few)
        if picture.few and not (ours[spec.n] > 0).any():
            of = f"{spec.mark}s are of fewer than {spec.least} {spec.prompts}"
            raise NothingToDraw(f"most {of}; the CSV has the numbers")
        if ours.empty or (spec.only_if and ours.query(spec.only_if, engine="python").empty):
            raise NothingToDraw(spec.nothing)
        if ours[spec.column].isna().all():
            raise NothingToDraw(f"every answer was skipped or failed. {picture.note}".strip())
        return picture

    @property
    def ours(self) -> pd.DataFrame:
        """The rows with our numbers."""
        return self.data[self.data["source"] == "ours"]

    @property
    def incomplete(self) -> bool:
        """Whether a mark is one of a cell that lacks answers."""
        ours = self.ours
        return bool((ours["incomplete"] & ours[self.spec.column].notna()).any())

    @cached_property
    def across(self) -> tuple[str, ...]:
        """The columns across, each with rows of panels of its own."""
        x = self.spec.x
        return (x,) if isinstance(x, str) else x

    @cached_property
    def note(self) -> str:
        """The end of the small print."""
        return self.spec.note(self.frame, self.run) if self.spec.note else ""

    def values(self, column: str, data: pd.DataFrame | None = None) -> list[Any]:
        """The values of a column, each once, in order."""
        found = (self.data if data is None else data)[column].dropna()
        if column == "model" or column in self.spec.listed:
            return list(dict.fromkeys(found))
        if (factor := self.factors.get(column)) and (factor.order or factor.last):
            return factor.sorted(found)
        return sorted(set(found)) if found.dtype.kind in "iuf" else list(dict.fromkeys(found))

    def places(self, column: str) -> list[Any]:
        """The values with a place on a column's axis: the values of our rows, and the paper's models."""
        return self.values(column, self.data if column == "model" else self.ours)

    @cached_property
    def panels(self) -> list[Any]:
        """The values that have a panel."""
        return self.places(self.spec.panel) if self.spec.panel else [None]

    def called(self, column: str, value: Any) -> str:
        """A value's label."""
        value = int(value) if isinstance(value, float) and value.is_integer() else value
        if value in self.spec.called:
            return self.spec.called[value]
        return self.factors.get(column, Factor(column)).called(value)

    def tick(self, column: str, value: Any) -> str:
        """The name of a value on an axis. Languages have their codes."""
        factor = self.factors.get(column, Factor(column))
        code = factor.format is language_name and value not in factor.words
        return str(value) if code else self.called(column, value)

    def label(self, column: str) -> str:
        """The name of a column on an axis; "" if it has none."""
        return self.say(self.factors.get(column, Factor(column)).label)

    def title(self, columns: Sequence[str], values: Sequence[Any], template: str) -> str:
        """The title of a panel, or of a row of panels.

        If a single value has words of its own, these words are the title.
        """
        names = [self.called(*pair) for pair in zip(columns, values, strict=True)]
        if template and not (len(values) == 1 and values[0] in self.spec.called):
            own = dict(zip(columns, names, strict=True))
            return template.format_map({"unit_of_length": "tokens", **self.run, **own})
        if columns == ("model",) and values[0] not in set(self.ours["model"]):
            return names[0] + PAPER
        return " ".join(names)

    def say(self, words: str) -> str:
        """Words with the run's settings in them."""
        return words.format_map({"unit_of_length": "tokens", **self.run})

    @property
    def values_name(self) -> str:
        """The name of the axis of values, with its unit."""
        name, unit = self.say(self.spec.axis), self.say(self.spec.unit)
        return f"{name} ({unit})" if unit else name

    @cached_property
    def looks(self) -> dict[tuple[str, Any], Look]:
        """A look for every line, ours first. A model looks the same in every figure of the run."""
        column = self.spec.line
        if column not in self.data:
            return {("ours", ""): looks([""])[""]}
        ours = self.values(column, self.ours)
        if column == "model":
            every = dict.fromkeys(ours, REST) | looks(self.coloured(ours))
        elif self.data[column].dtype.kind in "iuf":
            each = zip(ordered_colours(len(ours)), "os^DvPX" * 9, strict=False)
            every = dict(zip(ours, each, strict=False))
        else:
            every = looks(ours)
        found = {("ours", name): self.spec.looks.get(name, every[name]) for name in ours}
        if column != "model" or self.spec.panel == "model":
            return found
        theirs = self.values(column, self.data[self.data["source"] == "published"])
        markers = PUBLISHED_MARKERS if len(theirs) <= MOST_PUBLISHED else "d" * len(theirs)
        return found | {
            ("published", name): (PUBLISHED_COLOUR, marker)
            for name, marker in zip(theirs, markers, strict=False)
        }

    def coloured(self, ours: Sequence[str]) -> list[str]:
        """The models that get a colour: the requested models, or the run's first models, controls last."""
        order = model_order({*self.run.get("models", ()), *ours}, self.run)
        order.sort(key=lambda model: model in self.run.get("controls", ()))
        return (list(self.printing.coloured) or order)[:MOST_COLOURED]

    def parts(self) -> list[list[tuple[str, Any]]]:
        """The keys of the lines, divided into rows of panels if there are many; the paper's come last."""
        ours = [key for key in self.looks if key[0] == "ours"]
        theirs = [key for key in self.looks if key[0] != "ours"]
        # Of models, those without a colour stand behind the others.
        alike = self.spec.line == "model" or self.spec.mark != "point"
        if alike or len(ours) <= MOST_LINES:
            return [ours + theirs]
        return [*evenly(ours, MOST_LINES), *([theirs] if theirs else [])]

    def lines(self, data: pd.DataFrame, keys: Sequence[tuple[str, Any]]) -> Iterator[DrawnLine]:
        """The lines with these `keys` that have rows in `data`."""
        column, spec = self.spec.line, self.spec
        for key in keys:
            rows = data[data[column] == key[1]] if column in data else data
            rows = rows[rows["source"] == key[0]] if column == "model" else rows
            if rows.empty:
                continue
            name = self.title((column,), (key[1],), spec.line_title)
            if key[0] == "published":
                # A model of ours may have the same name.
                name = self._published_name(key[1])
            for more in {spec.suffix, spec.members} & set(rows):
                words = [word for word in rows[more].dropna().unique() if word]
                name += f" ({', '.join(' '.join(words).split())})" if words else ""
            theirs = self.run.get("published", {}).get(key[1]) if column == "model" else None
            paper_label = name if key[0] == "published" else (theirs or name) + PAPER
            if key[0] == "ours" and self._crowded:
                paper_label = SAME
            look = self.looks[key]
            if look == REST and column == "model" and (n := self.n_rest) > 1:
                name = f"{n}{OTHERS}"
                paper_label = SAME if self._crowded else name + PAPER
            yield DrawnLine(key, name, paper_label, look, rows)

    def _published_name(self, value: Any) -> str:
        """What the legend calls a model of the paper's that was not run; more than some share a name."""
        n = sum(source == "published" for source, _ in self.looks)
        one = self.called(self.spec.line, value)
        return (one if n <= MOST_PUBLISHED else f"{n} other models") + PAPER

    @cached_property
    def _crowded(self) -> bool:
        """Whether a legend that names each model of ours and the paper's is too long."""
        if self.spec.line != "model" or self.spec.panel == "model":
            return False
        ours = self.ours
        beside = set(ours.loc[ours["paper_value"].notna(), "model"])
        coloured = {key[1] for key, look in self.looks.items() if key[0] == "ours" and look != REST}
        theirs = min(MOST_PUBLISHED, sum(source == "published" for source, _ in self.looks))
        return (
            len(coloured) + len(coloured & beside) + theirs + 2 * (self.n_rest > 0) > MOST_ENTRIES
        )

    @cached_property
    def n_rest(self) -> int:
        """How many models have no colour."""
        return sum(look == REST for look in self.looks.values())


def few_answers(spec: Drawing, data: pd.DataFrame) -> pd.Series:
    """Which rows of ours have fewer than `Drawing.least` answers, or share a panel with mostly such rows."""
    asked = data[(data["source"] == "ours") & (data[spec.n] > 0)]
    few = asked[spec.n] < spec.least
    if not isinstance(spec, Heatmap):
        columns = [spec.x] if isinstance(spec.x, str) else spec.x
        panels = [asked[name].notna() for name in columns]
        panels += [asked[name] for name in (*spec.row, spec.panel) if name]
        few |= few.groupby(panels, dropna=False).transform("mean") > 0.5
    return few.reindex(data.index, fill_value=False)


def evenly(values: Sequence[T], most: int) -> list[list[T]]:
    """The values in as few parts of at most `most` as possible, of nearly equal size."""
    n = -(-len(values) // most)
    size = -(-len(values) // n) if n else 1
    return [list(values[i : i + size]) for i in range(0, len(values), size)]


def small_print(picture: Picture) -> str:
    """How many prompts are behind a mark, which prompts are missing, and what bars, dashes and signs mean."""
    spec, data = picture.spec, picture.data
    parts = [picture.say(spec.words), counted(picture), *intervals(picture)]
    if data["paper_value"].notna().any():
        paper = spec.paper
        where = paper if isinstance(paper, str) else paper(picture.frame, picture.run)
        parts.append(f"{spec.paper_look}: {where}.")
    if "n_exhausted" in data and (data["n_exhausted"] > 0).any():
        some = f"{spec.short_look}: some" if spec.short_look else "Some"
        parts.append(
            f"{some} prompts are shorter than the length, as vocabulary or text ran out before it."
        )
    if picture.incomplete:
        parts.append(
            f"{spec.incomplete_look}: more than 1% of the answers were skipped or failed"
            + ("." if isinstance(spec, Heatmap) else "; grey: from all wrong to all right.")
        )
    if (tinted := getattr(spec, "tinted", None)) and len(data.query(tinted[0])):
        parts.append(f"Orange: {tinted[1]}.")
    parts += [picture.note, picture.run.get("asked", "")]
    return " ".join(part for part in parts if part)


def counted(picture: Picture) -> str:
    """How many prompts are behind a mark, and how many answers are missing."""
    spec, data = picture.spec, picture.ours
    if data.empty:
        return ""
    if spec.counted:
        data = data.query(spec.counted, engine="python")
    # What has no answer has no mark.
    given = data[data[spec.n] > 0]
    words = f"n\u00a0=\u00a0{span_of(given[spec.n])} {spec.prompts} per {spec.mark}"
    if "n_questions" in given:
        asked = span_of(given["n_questions"])
        words += f" ({asked} question{'' if asked == '1' else 's'})"
    words += "."
    if picture.few:
        name = picture.values_name.lower()
        words += f" {spec.few_look.format(**vars(spec) | {'mark': spec.mark, 'name': name})}"
    if missing := sum(int(data[name].sum()) for name in ("n_skipped", "n_error") if name in data):
        words += f" {missing:,} answers skipped or failed."
    if dropped := int(data["n_dropped"].sum()) if "n_dropped" in data else 0:
        words += f" {dropped:,} answers that the limit cut before any text are left out."
    return words


def intervals(picture: Picture) -> list[str]:
    """Sentences on what shows how certain the numbers are; none if nothing does."""
    spec, ours = picture.spec, picture.ours
    reach = spec.intervals and (ours["ci_high"] > ours["ci_low"]).any()
    return ["Error bars: 95% intervals over questions."] if reach else []


def span_of(counts: Iterable[float]) -> str:
    """The smallest and the largest of the counts; one number if they are equal."""
    found = sorted(set(counts)) or [0]
    low, high = int(found[0]), int(found[-1])
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
