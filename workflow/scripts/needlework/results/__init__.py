"""From scores to results: numbers beside the paper's, tables, figures, all made from descriptions.

A benchmark describes its results (`result.Result`); nothing here knows a benchmark. `numbers` makes tidy
tables of scores, `layouts` describes how LaTeX lays them out, `drawings` how figures draw them.
"""
