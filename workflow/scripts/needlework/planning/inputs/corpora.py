"""The files and settings that corpora are read from."""

from __future__ import annotations

from typing import Any

from needlework.benchmarks.benchmark import load_benchmark
from needlework.data.corpora.corpus import Corpus
from needlework.data.corpora.registry import (
    CORPORA,
    folder_languages,
    local_files,
    own_corpus,
    sources,
)
from needlework.folders import matching
from needlework.planning.affects import not_affecting
from needlework.planning.inputs.base import Inputs
from needlework.planning.layout import resource


class Corpora(Inputs):
    """The files and settings that corpora are read from."""

    def source_entry(self, file_id: str) -> dict[str, Any]:
        """The registry's entry of a file, for the rule that fetches it."""
        source = sources()[file_id.split("/")[0]]
        return next(vars(file) for file in source.files if file.id == file_id)

    def sources(self, corpus: str, lang: str) -> list[str]:
        """The files that a corpus table is read from."""
        if self.is_own_corpus(corpus):
            return self._own(corpus, lang)["files"]
        own = CORPORA[corpus]
        needed = [resource(path) for path in own.resources]
        return needed + self._corpus_files(own, corpus, lang)

    def _corpus_files(self, own: Corpus, corpus: str, lang: str) -> list[str]:
        if own.benchmark and (named := load_benchmark(own.benchmark).plan.corpus_files):
            listed = named(self.settings(own.benchmark), corpus, lang)
            if listed is not None:
                return listed
        folder = resource("sample") if own.source is None else self._folder(own.source)
        extended = bool(own.resources) and own.part is None
        if extended and folder is None:
            return []
        if folder is not None and (
            own.source is None or extended or (own.files and lang in self._folder_languages(own))
        ):
            patterns = [pattern.format(lang=lang) for pattern in own.files]
            found = [str(file) for each in patterns for file in matching(folder, each)]
            return found
        if lang in own.packaged:
            return []
        assert own.source is not None, "the sample was read above"
        files = sources()[own.source].of(lang, own.part)
        return [f"results/sources/{file.id}" for file in files]

    def is_own_corpus(self, corpus: str) -> bool:
        """Whether a corpus is a data set of the user's."""
        return self._entry(corpus) is not None

    def _entry(self, corpus: str) -> Any:
        corpora: Any = self.config.corpora
        return own_corpus(corpus, corpora)

    def _own(self, corpus: str, lang: str) -> dict[str, Any]:
        """The data set of a user's corpus in a language, with the local files that it names."""
        entry = self._entry(corpus)
        data = entry.languages[lang]
        return {
            **{key: entry[key] for key in ("kind", "columns", "separator", "rows")},
            **data,
            "files": local_files(data.files),
        }

    def _folder_languages(self, corpus: Corpus) -> list[str]:
        """The languages that the user's folder of a corpus's source has."""
        source = corpus.source or ""
        return folder_languages(self._folder(source), source)

    def _folder(self, source: str) -> str | None:
        """The folder of a user's own languages of a source."""
        return getattr(getattr(self.config.sources, source, None), "folder", None)

    def corpus_settings(self, corpus: str, lang: str) -> Any:
        """A corpus table's settings besides its files, without the amount of data fetched."""
        if self.is_own_corpus(corpus):
            return self._own(corpus, lang)
        source, benchmark = CORPORA[corpus].source, CORPORA[corpus].benchmark
        if benchmark and (settings := load_benchmark(benchmark).plan.corpus_settings):
            return settings(self.settings(benchmark), lang)
        given: Any = getattr(self.config.sources, source, {}) if source else {}
        own = not_affecting(f"sources.{source}", given, "files")
        drawn = source in ("mmarco", "wikipedia")  # passages
        return {**own, "seed": self.config.run.seed} if drawn else own

    def corpus_reader(self, corpus: str) -> str:
        """The name of the module in needlework/data/corpora that reads a corpus."""
        return "data.corpora.tabular" if self.is_own_corpus(corpus) else CORPORA[corpus].reader
