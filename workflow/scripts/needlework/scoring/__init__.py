"""From answers to values: metrics, translation into English, the rows of scores.

One value an answer. Metrics of one benchmark alone lie in its package. Means, intervals
and the papers' numbers are in `results`.
"""
