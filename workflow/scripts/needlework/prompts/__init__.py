"""From tables to instance files: spans, token counts, budgets, the order of sending, the export.

What all benchmarks' constructions share. No benchmark's own rules, and no model's answers.
"""
