"""The states of an answer, as all tables name them: outcome, remarks, and why it ended."""

from __future__ import annotations

# What becomes of a request (column `outcome`).
ANSWERED, EMPTY, CUT, PROMPT_CUT = "answered", "empty", "cut", "prompt_cut"
REFUSED, FAILED, SKIPPED, UNASKED = "refused", "failed", "skipped", "unasked"
OUTCOMES = (ANSWERED, EMPTY, CUT, PROMPT_CUT, REFUSED, FAILED, SKIPPED, UNASKED)
# What else is to be told of an answer (column `remarks`).
REASONED, UNKNOWN_END, OTHER_MODEL = "reasoning_only", "unknown_end", "other_model"
ODD_COUNT, CONTROL_TOKENS, UNKNOWN_MARK = "odd_count", "control_tokens", "unknown_mark"
UNDECODED = "undecoded"
BESIDE_PROMPT, LONGER, DATED, DROPPED = "beside_prompt", "longer", "dated", "dropped"
RETRIED = "retried"
# Why an answer ended (column `finish_reason`), UNKNOWN where nobody says; and that there is none.
STOP, LENGTH, UNKNOWN, ERROR = "stop", "length", "unknown", "error"
UNANSWERED = (SKIPPED, ERROR)
