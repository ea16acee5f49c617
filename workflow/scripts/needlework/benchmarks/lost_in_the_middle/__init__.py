"""Lost in the Middle (Liu et al., arXiv:2307.03172).

Sections 3 (multi-document question answering), 4 (key-value retrieval), 5.2 (the query before and after
the data), 6 (open-domain case study), appendices A to C.
"""
