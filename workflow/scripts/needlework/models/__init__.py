"""From prompts to answers: generation through the journal, backends, batches, estimates of the work.

An answer is text here: whether it is right is for `scoring`.
"""
