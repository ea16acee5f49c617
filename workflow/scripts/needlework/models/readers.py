"""The built-in readers: backends without a model, which show that construction and scoring hold.

Only the standard library: planning imports it.
"""

from __future__ import annotations

# They answer with the references or not at all: in no mean over models.
CONTROLS = ("oracle", "empty")
# Their answers cannot fail, and an empty one is meant.
READERS = (*CONTROLS, "lexical")
