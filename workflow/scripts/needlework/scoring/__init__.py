"""From answers to values: metrics, translation into English, the rows of scores.

One value an answer. Means, intervals and the papers' numbers are in `results`.
"""
