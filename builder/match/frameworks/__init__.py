"""Two frameworks in one comparison: their words for the same things, and what is theirs alone."""
