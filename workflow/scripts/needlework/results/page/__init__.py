"""results/index.html and the lines of the terminal: what a run found."""
