"""needlework: build, run and score long-context evaluations, one module for each thing it knows."""

__version__ = "0.1.0"
