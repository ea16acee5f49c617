"""M4LE's data: its tasks, prompt frames, source formats and the construction of rows."""
