"""The papers' printed numbers as one data set, and what they say beside each other, without a model."""
