"""Translators into English: one module a kind."""
