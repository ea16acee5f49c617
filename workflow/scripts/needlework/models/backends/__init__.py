"""Backends: one module for each way to run a model."""
