"""Token counts of whole books."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from needlework.jobs.progress import progress
from needlework.prompts.tokenizers import Tokenizer
from needlework.prompts.wording import read_text


def token_counts(books: Mapping[str, Sequence[str]], name: str, tokenizer: Tokenizer) -> pa.Table:
    """The tokens of each language's original files; columns: context_lang, tokenizer, n_tokens."""
    rows = [
        {
            "context_lang": lang,
            "tokenizer": name,
            "n_tokens": sum(tokenizer.count(read_text(file)) for file in files),
        }
        for lang, files in progress(books.items(), desc="books", unit="language")
    ]
    return pa.Table.from_pylist(rows)
