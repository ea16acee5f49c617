"""A process that asks a model of the backend `inspect` for one token: see `planning.preflight.first_request`.

It reads the model's entry as JSON from its standard input. It writes a line of JSON with the status and the
text of a refusal; 0 and "" if the model answers. It is a process of its own because inspect_ai takes seconds
to import and changes Snakemake's loggers.
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
