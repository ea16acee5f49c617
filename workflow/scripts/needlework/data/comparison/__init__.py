"""Forms in which a text and an answer are compared, one module each: `normalise` and `contains`.

The choice of distractors and the metrics both use them, so they lie before either. No score.
"""
