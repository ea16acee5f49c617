"""Benchmarks: one package or module each. Their interfaces are `benchmark`, `parts` and `contract`.

A benchmark may use every room. No room and no other benchmark imports it: it is loaded by its name in the
configuration (`benchmark.load_benchmark`, `parts.load_part`).
"""
