"""From scores to results: numbers beside the paper's, tables, figures, comparisons, the explorer, provenance.

A benchmark describes its results (`benchmarks.result`); nothing here knows a benchmark. `numbers` makes tidy
tables of scores; `latex` lays them out and `drawing` draws them, as the benchmark describes it.
"""
