"""mLongRR (Agrawal et al. 2024, Multilingual Long-Context Models for Retrieval and Reasoning)."""
