"""What a job does around its work: its log, its errors, its progress, and ending with its parent.

Nothing here knows what the work is: no data, no prompt, no model.
"""
