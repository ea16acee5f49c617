"""Asks prompts of a model of the backend `inspect` in the environment of inspect_ai: see test_providers.py.

Reads an entry, prompts and a journal's folder as JSON from standard input, and writes rows and account.
"""

import json
import logging
import sys
from dataclasses import asdict

from needlework.errors import UserError
from needlework.journal import Journal
from needlework.models import remote_models
from needlework.models.accounts import account_of
from needlework.models.backends.base import Request, load_backend
from needlework.models.generation import Policy, generate
from needlework.prompts.spans import literal

asked = json.load(sys.stdin)
logging.basicConfig(stream=sys.stderr, level=logging.DEBUG)
remote_models.FIRST_PAUSE_S = 0.01
remote_models.ATTEMPTS = 3
entry = asked["entry"]
requests = [
    Request(f"i{n:03d}", 0, "exact", [literal("question", p)], ["x"], 16, 1, {})
    for n, p in enumerate(asked["prompts"])
]
rows: list[dict] = []
failed = ""
try:
    with Journal(asked["journal"]) as journal:
        generate(
            requests,
            load_backend("inspect", entry),
            journal,
            Policy(context=40000, max_failed=1000),
            told=rows.extend,
        )
except UserError as error:
    failed = str(error)
account = asdict(account_of(rows, "m", "b"))
json.dump({"rows": rows, "failed": failed, "account": account}, sys.stdout)
