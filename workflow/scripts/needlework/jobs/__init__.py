"""The surroundings of a job: its log, its errors, its progress, and its end with its parent.

Nothing here depends on the job's work: no data, no prompt, no model.
"""
