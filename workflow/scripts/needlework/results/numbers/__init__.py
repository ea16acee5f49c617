"""The numbers of a run that report cards, the page of results and the terminal show, each computed once."""
