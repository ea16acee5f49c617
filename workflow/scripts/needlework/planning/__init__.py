"""The part that Snakemake itself imports: the configuration, where files lie, checks before a run.

It imports only the standard library, PyYAML and pydantic. It knows the needs of every room, and no room
imports it: jobs get their part of the configuration as the rule's parameters.
"""
