"""Verdicts that a careful reader would give, who knows the right answers: docs/careful-verdicts.md.

`markup` removes signs of layout, `writings` gives a word one form, `numerals` and `dates` do so for numbers,
`words` splits a text, `phrases` finds what a language's phrases tell. `mentions` finds a reference in a text,
`statements` decides whether the text asserts it, `choice` which of several candidates an answer takes.
`verdicts` puts them together: one function for each kind of reference.
"""
