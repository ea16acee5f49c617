"""What the figures of all benchmarks share: style and saving."""
