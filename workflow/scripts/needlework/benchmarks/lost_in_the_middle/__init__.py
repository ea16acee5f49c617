"""Lost in the Middle: where in its context a model finds what it needs (arXiv:2307.03172)."""
