"""What Snakemake itself imports: the configuration, where files lie, checks before a run.

The standard library, PyYAML and pydantic only. It knows what every room needs, and no room imports it:
what a job must know of the configuration comes as the rule's parameters.
"""
