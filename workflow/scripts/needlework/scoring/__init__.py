"""From answers to values: metrics, translation into English, the rows of scores.

A metric gives an answer one value. A metric that only one benchmark uses is in the benchmark's package.
Means, intervals and the papers' numbers are in `results`.
"""
