"""Models behind the protocols of their providers, by inspect_ai."""
