"""Answers in other programs' files: logs of inspect_ai and lm-eval, batches of OpenAI, Every Eval Ever.

What stands in these files is untrusted: members and lines are bounded, and nothing is extracted or run.
"""
