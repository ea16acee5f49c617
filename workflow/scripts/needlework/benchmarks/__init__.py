"""Benchmarks: one package or module each. `benchmark`, `parts` and `contract` say what one is.

A benchmark uses every room. No room, and no other benchmark, imports it: it is loaded by the name that the
configuration gives (`benchmark.load_benchmark`, `parts.load_part`).
"""
