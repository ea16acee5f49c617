"""Models behind an OpenAI-compatible endpoint: request by request, or in batches."""
