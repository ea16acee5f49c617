"""Backends: one module or package for each way to run a model."""
