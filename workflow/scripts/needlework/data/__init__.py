"""From published files to tables: sources and their downloads, archives, corpora, sentences and words.

Readers that one benchmark alone uses lie in its package.

The result is one table for each corpus and language. No prompt, tokenizer or model.
"""
