"""Which prompts of a benchmark a model gets (the values in its `only`), and whether its context suffices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from needlework.errors import UserError

if TYPE_CHECKING:
    import pyarrow as pa

    from needlework.models.settings import AnyModel

# The built-in readers: backends without a model, which show that construction and scoring hold.
#
# Only the standard library: planning imports it.

# They answer with the references or not at all: in no mean over models.
CONTROLS = ("oracle", "empty")
# Their answers cannot fail, and an empty one is meant.
READERS = (*CONTROLS, "lexical")


# The allowed values of each factor that is restricted.
Selection = Mapping[str, Sequence[object]]

# More values of a factor are counted, not named, where people read.
MOST_VALUES = 8

# Columns that can be restricted in addition to a benchmark's factors.
COLUMNS = ("task", "example_id")


def only_of(model: AnyModel, benchmark: str) -> dict[str, list[object]]:
    """A model's `only` for a benchmark.

    This is the part for all benchmarks, with the part under the benchmark's name.
    """
    own = dict(model.only).get(benchmark)
    return shared(model.only) | (shared(own) if isinstance(own, Mapping) else {})


def shared(only: Mapping[str, object]) -> dict[str, list[object]]:
    """The part of an `only` for all benchmarks: the keys that are not names of benchmarks."""
    return {k: [*values] for k, values in dict(only).items() if isinstance(values, list | tuple)}


def in_words(only: Mapping[str, Selection]) -> str:
    """A description of the prompts that each restricted model got, for tables and figures.

    Models that got no prompts are left out. Questions are given as a number, not by their ids.
    """
    said = []
    for model, own in only.items():
        if own and not asks_nothing(own):
            words = [
                f"{len(values)} questions"
                if name == "example_id"
                else _factor_in_words(name, values)
                for name, values in own.items()
            ]
            said.append(f"{model} was asked only {', '.join(words)}.")
    return " ".join(said)


def _factor_in_words(name: str, values: Sequence[object]) -> str:
    called = name.removeprefix("n_").replace("lang", "language").replace("_", " ")
    return f"{called} {listed(values).replace(', ', ' or ')}"


def asks_nothing(only: Selection) -> bool:
    """Whether a selection contains no prompt."""
    return only.get("task") == []


def listed(values: Sequence[object]) -> str:
    """The values as text, or their number if they are many."""
    many = len(values) > MOST_VALUES
    return f"({len(values)} values)" if many else ", ".join(map(str, values)) or "(none)"


def columns(only: Selection, names: Sequence[str]) -> list[str]:
    """The columns of a table that a selection looks at."""
    return [name for name in only if name in names]


def mask(table: pa.Table, only: Selection) -> pa.BooleanArray:
    """Which rows of an Arrow table of prompts are selected.

    A row without a value of a factor is selected, and so is every row if the table has no such factor: a task
    without documents is not restricted by their number.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kept = pa.array([True] * table.num_rows, pa.bool_())
    for factor in columns(only, table.column_names):
        column = table[factor].combine_chunks()
        among = pc.is_in(column, value_set=pa.array(only[factor], column.type))
        kept = pc.and_(kept, pc.or_(among, pc.is_null(column)))
    return kept


def check_room(
    name: str,
    model: AnyModel,
    longest: int,
    overhead: int | None,
    reserve: int,
    limit: int | None = None,
) -> None:
    """Raise UserError if prompts fit into a model's context, but not with its template and reasoning.

    `longest` is the most tokens, in the model's tokenizer, of a prompt and its answer that fit without
    template and reasoning; `overhead` the tokens of template and reasoning. `reserve` is the tokenizer's key.
    `limit` is the context, by default the model's.
    """
    context = model.context if limit is None else limit
    lacking = longest + (overhead or 0) - context
    if overhead and 0 < lacking <= overhead:
        raise UserError(
            f"models.{name}: its longest prompts take {longest} tokens, and its chat template and "
            f"reasoning {overhead} more: {lacking} too many for the context of {context}. Set "
            f"`reserve: {reserve + lacking}` for tokenizers.{model.tokenizer} (which builds its prompts "
            "anew), or leave the length out of this model's `lengths`."
        )
