"""Benchmarks: one package each, with its plan, construction, scoring, tables and figures."""
