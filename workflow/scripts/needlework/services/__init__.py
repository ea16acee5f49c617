"""Talking to services over HTTP: URLs and keys, when to ask again, and replies read within limits.

No service of its own: downloads are in `data`, models in `models`, translators in `scoring`.
"""
