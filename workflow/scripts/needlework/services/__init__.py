"""Requests to services over HTTP: URLs and keys, retries, and replies of limited size.

No service itself: downloads are in `data`, models in `models`, translators in `scoring`.
"""
