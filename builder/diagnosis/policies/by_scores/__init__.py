"""Scores decide: the elements were not seen, or no gain was measured on them."""
