"""mLongRR's tables from the mirror of the released files, through the real reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from needlework.benchmarks.mlongrr import corpus as mlongrr
from needlework.benchmarks.mlongrr import plan
from needlework.planning.layout import Layout
from needlework.planning.schema import schema, with_defaults

ROOT = Path(__file__).resolve().parents[1]
RESOURCES = ROOT / "resources/mlongrr"
PUNKT = RESOURCES / "english_punkt.txt"
LANGUAGES = {
    "en": "English",
    "vi": "Vietnamese",
    "id": "Indonesian",
    "sw": "Swahili",
    "so": "Somali",
    "az": "Azeri",
}
BLOCK = schema()["properties"]["benchmarks"]["properties"]["mlongrr"]


def block(**own: Any) -> dict[str, Any]:
    """A benchmark's block of the configuration, with the defaults."""
    return with_defaults(own, BLOCK)


def settings(lang: str, lengths: Sequence[int], **own: Any) -> dict[str, Any]:
    """The settings of the first haystack's slice in a language."""
    made = block(**{"languages": [lang], **own})
    return plan.settings(made, plan.slices(made)[0], list(lengths))


def tables(slice_settings: Mapping[str, Any], mirror: Path | None = None) -> dict:
    """The inputs that `plan.reads` names, by input and language."""
    return {
        kind: {lang: table(corpus, lang, mirror) for corpus, lang in wanted}
        for kind, wanted in plan.reads(slice_settings).items()
    }


@cache
def table(corpus: str, lang: str, mirror: Path | None = None) -> pa.Table:
    """A corpus, from the files that the layout names."""
    config = {"sources": {}, "run": {}, "benchmarks": {}, "corpora": {}}
    layout = Layout(config)
    sources = [
        str(mirror / file.removeprefix("results/sources/"))
        if mirror and file.startswith("results/sources/")
        else file
        for file in layout.corpus_sources(corpus, lang)
    ]
    if layout.corpus_reader(corpus) == "benchmarks.oneruler.corpus":
        from needlework.benchmarks.oneruler import corpus as oneruler

        return oneruler.table(corpus, lang, sources, {})
    return mlongrr.table(corpus, lang, sources, {})
