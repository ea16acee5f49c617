"""Answers in other programs' files: logs of inspect_ai and lm-eval, batches of OpenAI, Every Eval Ever.

These files are untrusted: the sizes of members and lines are limited, and nothing is extracted or run.
"""
