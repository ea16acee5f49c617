"""What surrounds a job's work: its log, its errors, its progress, and its end with its parent.

Nothing here depends on the work: no data, no prompt, no model.
"""
