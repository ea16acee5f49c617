"""Backends: one module a way to answer prompts."""
