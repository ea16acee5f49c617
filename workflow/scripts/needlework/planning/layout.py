"""Where files lie, as paths below the working directory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from needlework.installed import IN_WHEEL, LINK
from needlework.results.result import Result

ROOT = Path(__file__).resolve().parents[4]


def resource(path: str) -> str:
    """A path below resources/. It is relative if the workflow runs in its own folder.

    So another clone that gets this clone's results has the same inputs. A module's `prefix:` moves relative
    paths, so a commit unpacked below the run's `.snakemake` has absolute paths. So has a wheel, by way of the
    run's link to it.
    """
    found, here = ROOT / "resources" / path, Path.cwd()
    if IN_WHEEL and LINK.resolve() == ROOT:
        return str(here / LINK / "resources" / path)
    inside = found.is_relative_to(here) and not found.is_relative_to(here / ".snakemake")
    return str(found.relative_to(here) if inside else found)


def paths(value: Any) -> list[str]:
    """All paths in nested mappings and lists, in order, without repeats."""
    return list(dict.fromkeys(_leaves(value)))


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif value is not None:
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _leaves(part)


def corpus_files(tables: Iterable[str]) -> list[str]:
    """The files of tables ("corpus/language")."""
    return [f"results/corpora/{table}.parquet" for table in tables]


def result_file(benchmark: str, result: Result, ending: str) -> str:
    """A file of a result: its numbers ("csv"), or the table or figure in a format."""
    return f"results/{result.kind}/{benchmark}/{result.name}.{ending}"
