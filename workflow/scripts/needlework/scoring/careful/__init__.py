"""The second scorer (metric "careful"): right, wrong or undecided. See docs/second-scorer.md.

`markup` removes signs of layout, `writings` gives a word one form, `numerals` and `dates` do so for numbers,
`words` splits a text, `phrases` finds what a language's phrases tell. `mentions` finds a reference in a text,
`statements` decides whether the text asserts it, `choice` which of several candidates an answer takes.
`verdicts` puts them together: one function for each kind of reference.
"""
