"""The second scorer (metric "careful"): right, wrong or undecided. See docs/second-scorer.md.

`words` splits a text and gives each word one form, `spelled` reads numbers in words, `phrases` finds phrases
of a language and their meaning. `mentions` finds a reference in a text, `statements` decides whether the text
asserts it. `verdicts` puts these together: one function for each kind of reference.
"""
