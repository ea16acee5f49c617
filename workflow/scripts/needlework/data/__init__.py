"""From published files to tables: sources and their downloads, archives, corpora, sentences and words.

The result is one table for each corpus and language. No prompt, tokenizer or model.
"""
