"""The page results/index.html, and a page for each benchmark beside it."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from needlework import __version__
from needlework.answer_states import CUT, FAILED, SKIPPED, UNANSWERED
from needlework.atomic import atomic_write
from needlework.models.accounts import Account, Remark, remarks, requests_line
from needlework.results.drawing.style import model_colours, on_pages
from needlework.results.numbers import misreads
from needlework.results.numbers.means import KEYS, explorer, means
from needlework.results.numbers.tables import empty, frame, panels
from needlework.results.page import overview
from needlework.results.page.finding import finding
from needlework.results.reproduction import Agreement, agreement, agreements, coverage
from needlework.results.rows import scores_of
from needlework.results.sealed.clone import workflow
from needlework.scoring.metric import UNDECIDED

if TYPE_CHECKING:
    import jinja2
    import pandas as pd

    from needlework.results.numbers.judge_verdicts import Judged

# The front of the page of results: what was run, and whether the controls say that it can be trusted.

# What a built-in reader of a backend scores in every prompt, and what its answers are.
CONTROLS = {
    "oracle": (1.0, "reference answers ({}) are scored right"),
    "empty": (0.0, "empty answers ({}) are scored wrong"),
}
# Less than this is rounding.
ROUNDING = 1e-6


class Ran(TypedDict, total=False):
    """What was run."""

    # Files of the configuration.
    files: list[str]
    # Descriptions, by name.
    models: dict[str, str]
    # The backends of the models that are built-in readers, by name. If there are other models, readers are in
    # no mean.
    readers: dict[str, str]
    notice: str | None
    # What prompts are made of, by title of the benchmark.
    data: dict[str, str]
    # The models that have a colour.
    coloured: list[str]


class Dated(Ran):
    """What was run, with the date and the commit."""

    date: str
    commit: str


class ShownResult(TypedDict):
    """A table or figure."""

    # The CSV of a table, or the SVG of a figure.
    file: str
    # The CSV of its numbers.
    numbers: str
    # The HTML of its tables.
    shown: str
    title: str
    # In reStructuredText.
    caption: str | None


class ShownBenchmark(TypedDict):
    """A benchmark on the page."""

    title: str
    # The factors of its prompts.
    asked: list[str]
    # What this run's prompts and the paper's are made of.
    data: str
    # As in `means.means`; `designed` has tasks.
    closed_book: tuple[str, Any]
    designed: tuple[str, ...]
    # The words for each task.
    task_names: dict[str, str]
    # The files of all models.
    scores: list[str]
    tables: dict[str, ShownResult]
    figures: dict[str, ShownResult]


class PageTable(TypedDict):
    """A table of a benchmark's page, with its HTML in `shown`."""

    name: str
    title: str
    caption: str | None
    file: str
    numbers: str
    shown: str
    tex: str


class PageFigure(ShownResult):
    """A figure of a benchmark's page, its SVG in base64."""

    name: str
    data: str


class PageBenchmark(TypedDict):
    """A benchmark in the templates of the page. Its means and warnings are of the shown models alone."""

    name: str
    title: str
    data: str
    task_names: dict[str, str]
    grids: list[overview.MeanGrid]
    warnings: list[overview.Warning]
    apart: set[str]
    misreads: list[dict[str, object]]
    wrong: dict[str, str]
    agreement: list[Agreement]
    tables: list[PageTable]
    on_page: set[str]
    lead: list[PageFigure]
    figures: list[PageFigure]
    not_drawn: dict[str, str]


@dataclass(frozen=True)
class Front:
    """What the front of the page says of a run, besides its results."""

    run: Ran = field(default_factory=Ran)
    # What became of the requests.
    accounts: Sequence[Account] = ()
    # Sentences on what the user's data held, each with whether nothing is missing.
    own_data: Sequence[tuple[str, bool]] = ()
    # What a judge says.
    judge: Judged | None = None
    # Whether a job failed, so that results are missing.
    unfinished: bool = False


@dataclass(frozen=True)
class _Results:
    """A run's results as every part of the page reads them.

    benchmarks: as in `write_page`. readers: the backends of built-in readers. folder: of the page. tables: as
    in `write_page`. printed: all numbers of the papers (`reproduction.reproduced`), if there are any.
    """

    benchmarks: Mapping[str, ShownBenchmark]
    models: Sequence[str]
    readers: Mapping[str, str]
    folder: Path
    tables: Mapping[str, pd.DataFrame] | None
    printed: pd.DataFrame | None

    @cached_property
    def shown(self) -> list[str]:
        """The models that means and cards are of: not the built-in readers, unless there is nothing else."""
        return [model for model in self.models if model not in self.readers] or list(self.models)

    @cached_property
    def numbers(self) -> Mapping[str, pd.DataFrame]:
        """The tables of `numbers.tables`."""
        if self.tables is not None:
            return self.tables
        rows = [
            row
            for name, own in self.benchmarks.items()
            for row in means(name, self.shown_scores[name], own["closed_book"], own["designed"])
        ]
        return {**empty(), "means": frame("means", rows)}

    @property
    def baselines(self) -> list[str]:
        """The built-in readers that are no controls."""
        return [name for name, backend in self.readers.items() if backend not in CONTROLS]

    @property
    def readers_alone(self) -> bool:
        """Whether the run has only built-in readers."""
        return bool(self.readers) and self.shown == list(self.models)

    @cached_property
    def scores(self) -> dict[str, pd.DataFrame]:
        """The scores of all models, by benchmark."""
        return {name: scores_of(own["scores"]) for name, own in self.benchmarks.items()}

    @cached_property
    def shown_scores(self) -> dict[str, pd.DataFrame]:
        """The scores of the models that are shown, by benchmark."""
        return {name: own[own["model"].isin(self.shown)] for name, own in self.scores.items()}


class Said(NamedTuple):
    """A sentence, and where the explorer shows the answers in question, if any are wrong."""

    text: str
    link: str = ""


def what_was_run(run: Ran) -> Dated:
    """What was run, with the commit and today's date."""
    found = workflow()
    commit = (found["commit"] or "")[:10]
    return {
        "files": [],
        "models": {},
        "readers": {},
        "notice": "",
        "data": {},
        **run,
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit and commit + (", changed since" if found["modified"] else ""),
    }


def control_sentences(
    scores: Mapping[str, pd.DataFrame],
    titles: Mapping[str, str],
    readers: Mapping[str, str],
    explorer: Callable[[str, Mapping[str, str]], str],
) -> list[Said]:
    """Whether each control scores as it must, in all benchmarks. If it does, one sentence says so.

    `scores` and `titles` are by benchmark, `readers` the backends of built-in readers. `explorer` returns the
    address of a view.
    """
    held, faults = [], []
    for reader, backend in readers.items():
        if backend not in CONTROLS:
            continue
        value, answers = CONTROLS[backend]
        n = 0
        for benchmark, own in scores.items():
            mine = _headline(own[own["model"] == reader])
            off = int(((mine["value"] - value).abs() > ROUNDING).sum())
            n += len(mine)
            if off:
                text = (
                    f"Self-check failed: {reader} must score {value:.0%}, and does not in {off:,} of "
                    f"{len(mine):,} prompts of {titles[benchmark]}. Prompts or scoring have an error"
                )
                faults.append(Said(text, explorer(benchmark, {"model": reader})))
        if n:
            held.append(f"all {n:,} {answers.format(reader)}")
    if faults or not held:
        return faults
    return [Said(f"Self-check passed: {', and '.join(held)}.")]


def _link(remark: Remark) -> str:
    """Where the explorer shows the requests that a remark is about."""
    ended = {CUT: "length", FAILED: "error", SKIPPED: "skipped"}.get(remark.kind)
    if not (ended and remark.benchmark):
        return ""
    return explorer(remark.benchmark, {"model": remark.model, "ended with": ended})


def _headline(scores: pd.DataFrame) -> pd.DataFrame:
    """The answers that were given, each by its first metric."""
    given = scores[~scores["finish_reason"].isin(UNANSWERED)]
    return given.drop_duplicates(["instance_id", "sample"])


def card_images(files: Sequence[str | Path], folder: Path) -> Iterator[dict[str, str]]:
    """The report cards for the page in `folder`.

    `files` are results/cards/page/<model>.svg. The complete card and its text are one folder above.
    """
    for file in map(Path, files):
        whole = file.parent.parent / file.name
        text = whole.with_suffix(".txt").read_text(encoding="utf-8")
        said, _, legend = text.strip().partition("\n")
        yield {
            "model": file.stem,
            "file": file.relative_to(folder).as_posix(),
            "phone": f"{whole.parent.relative_to(folder).as_posix()}/phone/{file.name}",
            "stem": whole.with_suffix("").relative_to(folder).as_posix(),
            "sentence": said,
            "legend": legend,
            "data": base64.encodebytes(file.read_bytes()).decode("ascii"),
        }


def write_page(
    benchmarks: Mapping[str, ShownBenchmark],
    models: Sequence[str],
    *,
    template: str | Path,
    target: str | Path,
    summary: str | Path | None = None,
    reproduction: Sequence[str | Path] = (),
    front: Front = Front(),
    cards: Sequence[str | Path] = (),
    tables: Mapping[str, pd.DataFrame] | None = None,
) -> None:
    """Write the page, `<benchmark>.html` beside it, and its first part alone as `summary`.

    Snakemake's report shows the summary. A benchmark's page has its means, tables and figures; the main page
    has one of the figures, and links.

    `reproduction` are the table and the picture (CSV, SVG) of all printed numbers, `cards` the SVGs of report
    cards for pages (`card_images`). `tables` are the numbers of the page (`numbers.tables`); without them, it
    shows only means.
    """
    folder, templates = Path(target).parent, Path(template).parent
    printed = _read_printed(reproduction[0]) if reproduction else None
    readers = front.run.get("readers", {})
    results = _Results(benchmarks, models, readers, folder, tables, printed)
    parts = [_part(results, name) for name in benchmarks]
    colours = model_colours(results.shown, front.run.get("coloured", ()))
    values = {
        "version": __version__,
        **_sorting(templates / "sort.js"),
        **_front(front, results, parts),
        **_first_screen(results, cards),
        "colours": {model: on_pages(colour) for model, colour in colours.items()},
        "agreement": "" if printed is None else agreement(printed),
        "reproduction": None if printed is None else _reproduction(printed, reproduction[1]),
        "benchmarks": parts,
    }
    pages: list[tuple[str | Path, str, dict[str, object]]] = [(target, Path(template).name, {})]
    for part in parts:
        pages.append((folder / f"{part['name']}.html", "benchmark.html.j2", {"own": part}))
    if summary is not None:
        # It stands on a page beside results/.
        pages.append((summary, "summary.html.j2", {"folder": "results/"}))
    environment = _environment(templates)
    for file, name, more in pages:
        page = environment.get_template(name).render(**{**values, "folder": "", **more})
        with atomic_write(file) as written:
            written.write_text(page, encoding="utf-8")


def _environment(templates: Path) -> jinja2.Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.filters["percent"] = one_decimal
    environment.filters["result_name"] = result_name
    return environment


def _front(front: Front, results: _Results, parts: Sequence[PageBenchmark]) -> dict[str, object]:
    """What the templates show of `Front`, and the self-check; and how many warnings the page has."""
    warned = [Said(remark.text, _link(remark)) for remark in remarks(front.accounts)]
    titles = {part["name"]: part["title"] for part in parts}
    controls = control_sentences(results.scores, titles, results.readers, explorer)
    return {
        "models": results.models,
        "unfinished": front.unfinished,
        "account": requests_line(front.accounts),
        "remarks": warned,
        "n_warnings": len(warned)
        + sum(bool(said.link) for said in controls)
        + sum(len(part["warnings"]) for part in parts),
        "own_data": front.own_data,
        "judge": front.judge,
        "run": what_was_run(front.run),
        "controls_alone": results.readers_alone,
        # Readers that figures show beside the models.
        "baselines": [] if results.readers_alone else results.baselines,
        "controls": controls,
    }


def _first_screen(results: _Results, cards: Sequence[str | Path]) -> dict[str, object]:
    """The finding, the number of answers, and the cards: that of the model that loses most comes first.

    If a run has a single panel, the finding and its curve say all of a card.
    """
    titles = {name: own["title"] for name, own in results.benchmarks.items()}
    found = finding(results.numbers, titles, results.shown)
    points = results.numbers["points"]
    images = sorted(
        card_images(cards if panels(points) > 1 else [], results.folder),
        key=lambda one: [*found["losing"], one["model"]].index(one["model"]),
    )
    answers = sum(len(own.drop_duplicates(KEYS)) for own in results.shown_scores.values())
    return {"finding": found, "answers": answers, "cards": images}


def _sorting(path: Path) -> dict[str, str]:
    """The script that sorts tables, and its hash, by which the page allows it alone."""
    from markupsafe import Markup

    text = path.read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return {"sort": Markup(text), "sort_hash": f"sha256-{digest}"}


def _read_printed(table: str | Path) -> pd.DataFrame:
    """The numbers that the papers print, beside ours."""
    import pandas as pd

    return pd.read_csv(table, keep_default_na=False, na_values=[""])


def _reproduction(printed: pd.DataFrame, picture: str | Path) -> dict[str, str]:
    """How many printed numbers ours cover, and the picture of them, if any can be compared.

    The picture is the project's own, so its markup is trusted; its dots are links.
    """
    from markupsafe import Markup

    found = {"words": coverage(printed), "picture": "", "data": ""}
    if not overview.not_drawn(picture):
        text = Path(picture).read_text(encoding="utf-8")
        # There can be hundreds of dots, so none is a tab stop. The CSV has the same links.
        shown = text[text.index("<svg ") :].replace("<a xlink:href", '<a tabindex="-1" xlink:href')
        found["picture"] = Markup(shown)
        found["data"] = base64.encodebytes(text.encode()).decode("ascii")
    return found


def _part(results: _Results, name: str) -> PageBenchmark:
    own, scores, mine = results.benchmarks[name], results.scores[name], results.shown_scores[name]
    printed = results.printed
    all_means = results.numbers["means"]
    grids = overview.grids(all_means[all_means["benchmark"] == name])
    tables, figures = _tables_and_figures(results, own)
    # If no model of the user's was asked, the section does not open with a figure of built-in readers.
    heads = 1 if grids else 0
    return {
        "name": name,
        "title": own["title"],
        "data": own["data"],
        "task_names": own["task_names"],
        "grids": grids,
        "warnings": overview.warnings(name, mine),
        "apart": overview.asked_apart(mine),
        "misreads": list(_misreads(name, scores, results.readers)),
        "wrong": {model: explorer(name, {"model": model}) for model in mine["model"].unique()},
        "agreement": [] if printed is None else agreements(printed[printed["benchmark"] == name]),
        "tables": tables,
        "on_page": {one["name"] for one in (*tables, *figures)},
        "lead": figures[:heads],
        "figures": figures[heads:],
        "not_drawn": {
            entry["title"]: why
            for entry in own["figures"].values()
            if (why := overview.not_drawn(entry["file"]))
        },
    }


def _tables_and_figures(
    results: _Results, own: ShownBenchmark
) -> tuple[list[PageTable], list[PageFigure]]:
    """A benchmark's tables, and the figures that are drawn, first those with models of the user's.

    Those of built-in readers alone are left out, unless the run has no other model.
    """
    tables = [
        _table(name, entry, results.folder, own["title"]) for name, entry in own["tables"].items()
    ]
    figures: list[PageFigure] = [
        {
            **entry,
            "name": name,
            "file": _beside(entry["file"], results.folder),
            "caption": _caption(entry),
            # In lines: reStructuredText refuses one of more than 10,000 characters.
            "data": base64.encodebytes(Path(entry["file"]).read_bytes()).decode("ascii"),
        }
        for name, entry in own["figures"].items()
        if not overview.not_drawn(entry["file"])
    ]
    figures.sort(key=lambda figure: not _has_models(figure["numbers"], results.readers))
    if results.readers_alone:
        return tables, figures
    return (
        [one for one in tables if _says_of_models(one["numbers"], results.readers)],
        [one for one in figures if _says_of_models(one["numbers"], results.readers)],
    )


def _misreads(
    name: str, scores: pd.DataFrame, controls: Collection[str]
) -> Iterator[dict[str, object]]:
    """How often a second scorer disagrees with each metric, with links to the answers."""
    judged = {"model": [model for model in scores["model"].unique() if model not in controls]}
    for found in misreads.misreads(scores, controls):
        yield {
            **found._asdict(),
            **{
                f"{kind}_link": explorer(name, {**judged, misreads.READING: reading})
                for kind, reading in (
                    ("missed", misreads.MISSED),
                    ("counted", misreads.COUNTED),
                    ("undecided", UNDECIDED),
                )
            },
        }


def _has_models(numbers: str | Path, controls: Collection[str]) -> bool:
    """Whether a figure's numbers have a model of this run that is no control."""
    head, rows = overview.read_csv(numbers)
    if "model" not in head:
        return False
    model, source = head.index("model"), head.index("source") if "source" in head else None
    return any(
        row[model] not in controls and (source is None or row[source] == "ours") for row in rows
    )


def _says_of_models(numbers: str | Path, controls: Collection[str]) -> bool:
    """Whether numbers by model have a model of this run that is no control; true of other numbers."""
    head, _ = overview.read_csv(numbers)
    return "model" not in head or _has_models(numbers, controls)


def _table(name: str, entry: ShownResult, folder: Path, benchmark: str) -> PageTable:
    """A table with its HTML, which is the repository's own, if it has been made.

    Its landmarks are named by the benchmark's title, too: benchmarks have tables of the same title.
    """
    from markupsafe import Markup, escape

    shown = Path(entry["shown"])
    text = shown.read_text(encoding="utf-8") if shown.is_file() else ""
    tex = shown.with_suffix(".tex")
    return {
        "name": name,
        "title": entry["title"],
        "caption": _caption(entry),
        "file": _beside(entry["file"], folder),
        "numbers": entry["numbers"],
        "shown": Markup(text.replace('aria-label="', f'aria-label="{escape(benchmark)}: ')),
        "tex": _beside(str(tex), folder) if tex.is_file() else "",
    }


def _beside(file: str, folder: Path) -> str:
    """A file's path from the page's folder."""
    return Path(file).relative_to(folder).as_posix()


def _caption(entry: ShownResult) -> str | None:
    """A caption as HTML. It is the repository's own text, so its markup is trusted."""
    if not entry["caption"]:
        return None
    from docutils.core import publish_parts
    from markupsafe import Markup

    text = entry["caption"]
    quiet = {"file_insertion_enabled": False, "raw_enabled": False, "report_level": 5}
    return Markup(publish_parts(text, writer="html5", settings_overrides=quiet)["body"])


def result_name(name: str) -> str:
    """The name of a result in a line of links: "table5" as "Table 5"."""
    return re.sub(r"^(table|figure)(\d)", r"\1 \2", name).replace("_", " ").capitalize()


def one_decimal(value: float) -> str:
    """0.523 as "52.3"."""
    return f"{100 * value:.1f}"


# results/index.html of a run whose job failed: what became of the requests, and the results that there are.


def write_unfinished(
    benchmarks: Mapping[str, ShownBenchmark],
    models: Sequence[str],
    template: str | Path,
    target: str | Path,
    front: Front,
) -> None:
    """Write the page as `write_page` does; some of the files may be missing."""
    there = {name: own for name, all_ in benchmarks.items() if (own := _existing(all_))}
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    front = replace(front, unfinished=True)
    try:
        write_page(there, models, template=template, target=target, front=front)
    except Exception:
        # Results of an earlier run may not fit these: the account matters more.
        write_page({}, models, template=template, target=target, front=front)


def _existing(own: ShownBenchmark) -> ShownBenchmark | None:
    """The part of a benchmark that is there; None without any scores."""

    def there(results: Mapping[str, ShownResult]) -> dict[str, ShownResult]:
        return {
            name: entry
            for name, entry in results.items()
            if Path(entry["file"]).is_file() and Path(entry["numbers"]).is_file()
        }

    scores = [path for path in own["scores"] if Path(path).is_file()]
    if not scores:
        return None
    tables, figures = there(own["tables"]), there(own["figures"])
    return {**own, "tables": tables, "figures": figures, "scores": scores}
