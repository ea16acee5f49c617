"""A model's report card: where its answers fail, by length, depth, language and number of needles."""
