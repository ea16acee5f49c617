"""From published files to tables: sources and their downloads, archives, corpora, sentences and words.

The result is one table for each corpus and language, without prompts, tokenizers or models. A reader that
only one benchmark uses is in the benchmark's package.
"""
