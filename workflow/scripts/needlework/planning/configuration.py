"""The classes of the whole configuration: all that `--configfile` may contain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, get_args

from pydantic import create_model

from needlework.benchmarks.parts import SETTINGS, load_part, names
from needlework.data.corpora.registry import OWN_SERVES, serving
from needlework.models.settings import AnyModel, with_all_keys
from needlework.settings.base import (
    BenchmarkSettings,
    Distinct,
    DistinctPair,
    PathText,
    Settings,
    SomePath,
    Text,
    key,
)
from needlework.settings.doctor import Doctor
from needlework.settings.figures import Figures
from needlework.settings.generation import Generation
from needlework.settings.models import ModelSettings
from needlework.settings.retrieval import Embedder, Retrieval
from needlework.settings.run import Run
from needlework.settings.sources import OwnCorpus, Sources
from needlework.settings.tokenizers import Tokenizer
from needlework.settings.translation import NoneTranslator, Translation, Translator


def benchmark_settings(name: str) -> type[Settings]:
    """The class of a benchmark's settings, in its module `settings`.

    For example, LostInTheMiddle is the class of lost_in_the_middle.
    """
    found = getattr(load_part(name, SETTINGS), "".join(map(str.capitalize, name.split("_"))))
    assert issubclass(found, Settings)
    return found


BENCHMARKS: dict[str, type[Settings]] = {name: benchmark_settings(name) for name in names()}

if TYPE_CHECKING:
    # By their names, of which the type checker knows none.
    Benchmarks = Mapping[str, BenchmarkSettings]
else:
    _BLOCKS = {name: (own, key(own)) for name, own in BENCHMARKS.items()}
    Benchmarks = create_model("Benchmarks", __base__=Settings, **_BLOCKS)


class Configuration(Settings):
    """needlework's configuration"""

    run: Run
    """The models and benchmarks of this run."""
    compare: Distinct[DistinctPair[Text]] = key(())
    """The pairs that `snakemake compare` compares, such as `[[a, b]]`. Each name is a model of this
    run, or `<run>/<model>` with a run of `runs`. If the list is empty, every two models of this run
    are compared, except controls (`oracle`, `empty`). With `runs`, each model is then compared with
    itself in every other run."""
    runs: dict[str, PathText] = key({})
    """Other runs for `snakemake compare`, by a name of your choice: the folders that hold their
    `results`."""
    figures: Figures = key(Figures)
    """How figures are printed. A change draws them again, from the same numbers."""
    mirror: SomePath | None = key(None)
    """A folder or URL that holds the sources' files (layout: docs/air-gapped.md). Null downloads them
    from the sources."""
    journal: SomePath = key("journal")
    """The folder that caches finished answers and translations. No rerun deletes it, and several
    machines may share it."""
    generation: Generation = key(Generation)
    """Which answers are asked again."""
    judge: Text | None = key(None)
    """A model, by its name under `models`, that judges the answers which the second scorer leaves
    undecided, one request per answer. It also judges about 200 answers of known verdict, so that the
    page can say how often it is right. It need not be in `run.models`. Null asks no judge. For costs
    and limits see docs/second-scorer.md."""
    doctor: Doctor = key(Doctor)
    """What `snakemake doctor` asks the models in `run.doctor`."""
    sources: Sources = key(Sources)
    """How much of each source is read."""
    corpora: dict[str, OwnCorpus] = key({}, affects="prompts")
    """Data sets of your own as needles and haystacks, by a name of your choice
    (docs/your-own-data.md)."""
    retrieval: Retrieval = key(Retrieval)
    """How distractors are found."""
    embedders: dict[str, Embedder] = key({})
    """Sentence embedders, by name."""
    tokenizers: dict[str, Tokenizer]
    """Tokenizers, by name. A prompt's budget counts tokens of its model's tokenizer."""
    models: dict[str, AnyModel]
    """The models, by name; `run.models` chooses which of them run."""
    translation: Translation = key(Translation)
    """How answers are translated into English before they are scored."""
    translators: dict[str, Translator] = key(lambda: {"none": NoneTranslator(kind="none")})
    """Translators into English, by name."""
    benchmarks: Benchmarks
    """The benchmarks' own settings."""


def filled(value: Any, given: Any, with_defaults: bool = True) -> Any:
    """Settings as plain values: the given keys first, then the defaults.

    Settings in a list get no defaults.
    """
    if isinstance(value, Settings):
        values = dict(iter(value))
        keys = value.in_order(given if isinstance(given, Mapping) else {})
        order = dict.fromkeys([*(k for k in keys if k in values), *values])
        kept = [k for k in order if value.has(k, with_defaults)]
        found = {k: filled(values[k], keys.get(k), with_defaults) for k in kept}
        return with_all_keys(found, keys) if isinstance(value, ModelSettings) else found
    if isinstance(value, Mapping):
        keys = given if isinstance(given, Mapping) else {}
        return {k: filled(item, keys.get(k), with_defaults) for k, item in value.items()}
    if isinstance(value, list | tuple):
        each = given if isinstance(given, list) else [None] * len(value)
        return [filled(item, own, False) for item, own in zip(value, each, strict=True)]
    return value


def plain(value: Any) -> Any:
    """A copy in plain dicts and lists in place of Snakemake's own containers, and with 1 in place of 1.0.

    Numbers get into digests as text, and settings accept either form.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def corpora_for(config: Any) -> Callable[[str], list[str]]:
    """Returns the corpora that serve a purpose, such as `needles`.

    The user's own corpora are among them, if their settings are valid.
    """
    own = config.get("corpora") if isinstance(config, Mapping) else None
    sound = {
        name: entry["kind"]
        for name, entry in (own.items() if isinstance(own, Mapping) else ())
        if isinstance(entry, Mapping) and entry.get("kind") in (*OWN_SERVES,)
    }
    return lambda serves: serving(serves, sound)


def read(config: Any) -> Configuration:
    """The settings in plain values. Raises pydantic's ValidationError."""
    return Configuration.model_validate(config, context={"serving": corpora_for(config)})


def with_defaults(config: Any) -> dict[str, Any]:
    """A configuration in plain values with its defaults. Raises pydantic's ValidationError."""
    return dict(plain(filled(read(config), config)))


def block_class(section: str, entry: Mapping[str, Any]) -> type[Settings]:
    """The class of a block of the configuration.

    A block is given as its place, such as "sources.mmarco", or as an entry of a registry, such as "models".
    An entry of no known kind has the class `Settings`.
    """
    found: Any = Configuration
    for name in section.split("."):
        fields: dict[str, Any] = getattr(found, "model_fields", {})
        field = fields.get(name)
        found = field.annotation if field else Settings
    for kind in _classes(found):
        told = [
            kind.model_fields[key].annotation
            for key in ("kind", "backend")
            if key in kind.model_fields
        ]
        if not told or entry.get("kind", entry.get("backend")) in get_args(told[0]):
            return kind
    return Settings


def _classes(annotation: Any) -> Iterator[type[Settings]]:
    """The classes of blocks among which an annotation lets choose."""
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        yield annotation
    for part in get_args(annotation):
        yield from _classes(part)
