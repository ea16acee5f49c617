"""The style of all figures, and saving them."""
