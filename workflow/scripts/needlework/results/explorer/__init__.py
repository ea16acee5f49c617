"""The explorer: every prompt, answer and verdict of a run in a folder of static files."""
