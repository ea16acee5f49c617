"""The report card of a model: by length, depth, language and number of needles, where its answers fail."""
