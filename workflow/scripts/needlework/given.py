"""Settings as jobs and rules read them: validated plain values, whose keys are attributes.

Planning validates a configuration with the classes of settings, which need pydantic. After that, and in jobs,
the same values are read as blocks without pydantic. A function names the class of the block that it takes,
such as `def build(own: Mlneedle)`, and the type checker refuses attributes that the class lacks. Import a
class of settings for annotations alone, below `if TYPE_CHECKING:`. A block has no defaults, only the keys
that it was given. So if a rule does not hand a key to its job, the job fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# The keys that are None where nobody gives them (`key(absent=True)`), other than a corpus' columns, which are
# looked up in `dict(settings.columns)`: other blocks have keys of the same names.
ABSENT = frozenset({"against", "fail_if_worse_by", "spread", "effort"})


class Block(dict[str, Any]):
    """A block of settings: a dict of plain values, of which each key is also an attribute.

    Read as an attribute, a list is a tuple, as in the class of the settings. A pickled block is a plain dict,
    so jobs get their parameters without this class. Blocks are not changed; make a new one with
    `given({**block, "seed": 1})`.
    """

    def __getattr__(self, name: str) -> Any:
        if name in self:
            value = self[name]
            return tuple(value) if isinstance(value, list) else value
        if name in ABSENT:
            return None
        raise AttributeError(f"there is no key {name!r} among {', '.join(self) or 'no keys'}")

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def given(values: Any) -> Any:
    """Validated plain values as blocks, a copy in all depths.

    Annotate the result with the class of the settings, as in `own: Mlneedle = given(params.settings)`.
    """
    if isinstance(values, Mapping):
        block = Block((key, given(value)) for key, value in values.items())
        # The one key of settings with the name of a dict's method is found before it. Blocks of the user's
        # own keys, such as `request`, keep their other methods: JSON Schemas have `items`.
        if "keys" in block:
            vars(block)["keys"] = block.__getattr__("keys")
        return block
    if isinstance(values, list | tuple):
        return [given(value) for value in values]
    return values
