"""mLongRR: Agrawal et al. 2024, "Evaluating Multilingual Long-Context Models for Retrieval and Reasoning"."""
