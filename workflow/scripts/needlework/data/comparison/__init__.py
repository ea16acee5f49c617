"""Forms in which a text and an answer are compared, one module each: `normalise` and `contains`.

They are not in `scoring`, since the choice of distractors uses them too.
"""
