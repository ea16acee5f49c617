"""From tables to instance files: spans, token counts, budgets, the order of sending, the export.

Shared by the construction of all benchmarks. No rules of one benchmark, and no answers.
"""
