"""Benchmarks: in this folder the types in which one is described, and one package each.

Types know no room but these modules. A package uses every room; no room, and no other benchmark, uses it,
but by the name that the configuration gives (`benchmark.load_benchmark`) and by hooks.
"""
