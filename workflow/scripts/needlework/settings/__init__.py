"""The keys of the configuration, in frozen classes: their types, defaults, limits and descriptions.

It needs pydantic, which Snakemake's own environment has. Jobs get their settings as plain values and import
nothing of it.
"""
