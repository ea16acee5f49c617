"""The second scorer (metric "careful"): right, wrong or undecided. See docs/second-scorer.md.

`words` splits a text and gives each word one form, `spelled` has numbers in words, `phrases` finds what a
language's phrases tell. `mentions` finds a reference in a text, `statements` decides whether it asserts it.
`verdicts` puts them together: one function for each kind of reference.
"""
