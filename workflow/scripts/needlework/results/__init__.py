"""From scores to results: numbers beside the paper's, tables, figures, comparisons, the explorer, provenance.

A result is a function of scores (`result`), written in its benchmark with the verbs of `tabulate`.
`written_tables` lays out its tidy table, or `drawing` draws it. Nothing here knows a benchmark.
"""
