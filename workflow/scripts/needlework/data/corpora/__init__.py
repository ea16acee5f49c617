"""Readers: one module for each source, from its published format to the uniform tables of `records`."""
