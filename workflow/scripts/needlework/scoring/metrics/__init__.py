"""Metrics: one module a family, from (prediction, references) to a value in [0, 1] and a verdict."""
