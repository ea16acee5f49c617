"""From passages to the nearest passages of each question: embedders, vectors on disk, the search.

Nothing about prompts: their construction decides how many passages a prompt takes.
"""
