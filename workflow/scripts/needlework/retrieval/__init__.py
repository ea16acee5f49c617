"""From passages to the nearest of each question: embedders, shards on disk, the search.

Nothing of prompts: how many passages a prompt takes is for its construction to say.
"""
