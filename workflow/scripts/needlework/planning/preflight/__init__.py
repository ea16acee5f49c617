"""Checks before any work starts, except checks of the configuration: a module for each concern."""
