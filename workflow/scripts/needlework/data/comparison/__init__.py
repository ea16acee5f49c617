"""Forms in which a text and an answer are compared, one module each: `normalise` and `contains`.

Both the choice of distractors and the metrics use them, so they are in an earlier room. No score.
"""
