"""Readers: one module a source, from its published format to the uniform tables of `records`."""
