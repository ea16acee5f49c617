"""The page results/index.html, and the lines on the terminal."""
