"""Pairs that a person mapped by hand: measured as the builder measures, laid over a file."""
