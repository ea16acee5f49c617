"""The type of an entry of the configuration. It is a module of its own so that any room can import it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

# An entry under `models`, `translators`, `embedders` or `corpora`; its keys depend on its kind.
Entry: TypeAlias = Mapping[str, Any]
