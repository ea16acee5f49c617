"""From tables to instance files: spans, token counts, budgets, the order of sending, the export.

The construction of all benchmarks uses this room. It has no rules of one benchmark, and no answers.
"""
