"""From published files to tables: sources and their downloads, archives, corpora, sentences and words.

One table a corpus and language leaves this room. No prompt, tokenizer or model.
"""
