"""The keys and the code on which results depend. A change of anything else makes no result anew.

Each key of the settings, or else its block, says what it affects (`affects`). The parameters of jobs follow
from this: a key that affects only speed makes nothing anew.

| `affects` | |
|---|---|
| files | which files are downloaded or read |
| prompts | prompts, and all that comes after |
| answers | a model's answers |
| scores | scores of answers, and translations |
| results | tables and figures |
| speed | how fast, or with how much memory |
| place | where a model or a file is reached |
| nothing | estimates, keys |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.benchmarks.parts import OBJECT, RESULTS, part_file
from needlework.codedigest import code_digest
from needlework.data.corpora.registry import base_of
from needlework.planning.configuration import block_class
from needlework.planning.layout import ROOT
from needlework.prompts.wording import all_texts
from needlework.services.endpoints import published_url, with_addresses, without_addresses

if TYPE_CHECKING:
    from needlework.planning.configuration import Configuration
    from needlework.settings.base import BenchmarkSettings, Settings


def affecting(section: str, entry: Settings, *kinds: str) -> dict[str, Any]:
    """The keys of an entry or block of the configuration that affect one of `kinds`.

    `section` is the place of the entry, such as "models" or "sources.mmarco".
    """
    return _select(section, entry, lambda kind: kind in kinds)


def not_affecting(section: str, entry: Settings, *kinds: str) -> dict[str, Any]:
    """The keys of an entry that affect anything but `kinds`."""
    return _select(section, entry, lambda kind: kind not in kinds)


def _select(section: str, entry: Settings, wanted: Callable[[str], bool]) -> dict[str, Any]:
    values = dict(entry)
    own = block_class(section, values)
    found = {key: value for key, value in values.items() if wanted(own.with_effect(key))}
    if "args" in found and not wanted("place"):
        found["args"] = without_addresses(found["args"])
    return found


def effective_config(config: Configuration) -> dict[str, Any]:
    """The part of a validated configuration on which this run's results depend.

    Entries that the run does not name are left out. So are keys that change no result: places of keys,
    mirrors and journals, prices, throughputs.
    """
    run = config.run
    judge = [config.judge] if config.judge else []
    named = dict.fromkeys([*run.models, *judge])
    tokenizers = {config.models[name].tokenizer for name in named} | set(run.tokenizers)
    embedder, translator = config.retrieval.embedder, config.translation.translator
    benchmarks = {name: _worded(config.benchmarks[name]) for name in run.benchmarks}
    corpora = {base_of(name) for name in _texts(benchmarks)}
    return {
        "run": run,
        **({"judge": judge[0]} if judge else {}),
        **({"doctor": config.doctor} if run.doctor else {}),
        "sources": config.sources,
        "corpora": {name: config.corpora[name] for name in config.corpora if name in corpora},
        "retrieval": config.retrieval,
        "embedders": {embedder: config.embedders[embedder]},
        "tokenizers": {name: config.tokenizers[name] for name in sorted(tokenizers)},
        "models": {name: _plain_entry("models", config.models[name]) for name in named},
        "translation": config.translation,
        "translators": {translator: _plain_entry("translators", config.translators[translator])},
        "benchmarks": benchmarks,
    }


def _worded(own: BenchmarkSettings) -> dict[str, Any]:
    """A benchmark's block with the user's instructions themselves in the place of their folders."""
    values = dict(own)
    if instructions := values.get("instructions"):
        values["instructions"] = {k: all_texts(given) for k, given in dict(instructions).items()}
    return values


def _texts(value: Any) -> Iterator[str]:
    """Every text among the values of a part of the configuration."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(part)


def _plain_entry(section: str, entry: Settings) -> dict[str, Any]:
    plain = not_affecting(section, entry, "nothing")
    if "base_url" in plain:
        plain["base_url"] = published_url(plain["base_url"])
    if "args" in plain:
        plain["args"] = with_addresses(plain["args"], published_url)
    template = plain.get("chat_template")
    if template and Path(template).is_relative_to(ROOT):
        # In another clone, too, the workflow's own file is found by this path.
        plain["chat_template"] = Path(template).relative_to(ROOT).as_posix()
    return plain


def numbers_digest(benchmark: str) -> str:
    """A digest of the code that makes the numbers of a benchmark's results. Captions are no code."""
    return code_digest("make_numbers.py", *(part_file(benchmark, part) for part in RESULTS))


def shown_digest(benchmark: str) -> str:
    """A digest of the code that lays out tables and draws figures of a benchmark's numbers."""
    return code_digest("show_results.py", *(part_file(benchmark, part) for part in RESULTS))


def page_digest(benchmarks: Iterable[str]) -> str:
    """A digest of the code that makes the numbers of cards and page.

    A benchmark's object names its card, so its module is part of this code.
    """
    return code_digest("make_page_numbers.py", *(part_file(name, OBJECT) for name in benchmarks))
