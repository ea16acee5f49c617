"""A slice of a benchmark's prompts, as the construction makes it of tables."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from factories import templates
from needlework.planning.rule_inputs import RuleInputs
from needlework.prompts.spans import Documents, numbered, render, span_text
from needlework.prompts.tokenizers import Tokenizer, load_tokenizer

WORDS = load_tokenizer("words", {"kind": "words"})
CHARACTERS = load_tokenizer("characters", {"kind": "characters"})
Tables = Mapping[str, Mapping[str, pa.Table]]


class Made:
    """The rows of a slice, with the documents that their prompts refer to."""

    def __init__(
        self, benchmark: str, settings: Any, tables: Tables, tokenizer: Tokenizer = WORDS
    ) -> None:
        plan, prompts = (
            import_module(f"needlework.benchmarks.{benchmark}.{part}")
            for part in ("plan", "prompts")
        )
        self.settings, self.tables = settings, tables
        self.built = prompts.build(settings, tables, templates(benchmark), tokenizer)
        self.rows: list[dict[str, Any]] = self.built.instances.to_pylist()
        # What was left out or found, without what was not.
        self.counts = {name: count for name, count in self.built.counts.items() if count}
        self.documents = Documents()
        for kind, wanted in plan.reads(settings).items():
            for corpus, lang in wanted:
                if {"passage_id", "context"} & {*tables[kind][lang].column_names}:
                    self.documents.add(f"{corpus}/{lang}", tables[kind][lang])
        if (own := self.built.documents) is not None:
            texts = [
                r["text"] if r["words"] is None else numbered(r["words"]) for r in own.to_pylist()
            ]
            shown = pa.table({"passage_id": own["passage_id"], "text": texts})
            self.documents.add(f"{benchmark}/{settings['slice']}", shown)

    def text(self, row: Mapping[str, Any]) -> str:
        """A row's prompt."""
        return render(row["prompt"], self.documents)

    def spans(self, row: Mapping[str, Any], *roles: str) -> list[str]:
        """The texts of a prompt's spans of these roles."""
        return [span_text(span, self.documents) for span in row["prompt"] if span["role"] in roles]


def table(files: RuleInputs, corpus: str, lang: str, mirror: Path | None = None) -> pa.Table:
    """A corpus of a run by its reader; the mirror has what the workflow fetches."""
    sources = [
        str(mirror / file.removeprefix("results/sources/"))
        if mirror and file.startswith("results/sources/")
        else file
        for file in files.corpora.sources(corpus, lang)
    ]
    reader = import_module(f"needlework.{files.corpora.corpus_reader(corpus)}")
    return reader.table(corpus, lang, sources, files.corpora.corpus_settings(corpus, lang))
