"""Checks before any work starts, other than of the configuration: a module for each concern."""
