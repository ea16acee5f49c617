"""A process that asks a model of the backend `inspect` for one token: see `planning.preflight.first_request`.

Reads the model's entry, as JSON, from its standard input, and writes the status and the text of a refusal as
a line of JSON; 0 and "" if there was none. Snakemake's own process does not import inspect_ai, which takes
seconds and changes its loggers.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from needlework.given import given
from needlework.models.backends.base import load_backend


def main() -> None:
    """Ask the model of the entry. Raises UserError if its client lacks a package or a key."""
    model: Any = load_backend("asked", given(json.load(sys.stdin)))
    model.load()
    print(json.dumps(model.first_refusal()))


if __name__ == "__main__":
    main()
