"""XQuAD: 1,190 questions with the same ids in each of twelve languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from needlework.data.corpora.extractive import read_squad
from needlework.errors import UserError


def table(corpus: str, lang: str, files: Sequence[str], settings: Mapping[str, str]) -> pa.Table:
    """The corpus in `lang` from its one file, as the rule `read_corpus` asks for it."""
    return read(files[0])


def read(json_path: str | Path) -> pa.Table:
    """QUESTIONS rows, sorted by id, of xquad.<lang>.json. UserError if it is not sound."""
    try:
        data = Path(json_path).read_bytes()
    except FileNotFoundError:
        raise UserError(f"{json_path} does not exist: run the rule that downloads it.") from None
    return read_squad(data, str(json_path))
