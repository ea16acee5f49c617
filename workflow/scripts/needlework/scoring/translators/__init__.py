"""Translators into English: one module per kind."""
