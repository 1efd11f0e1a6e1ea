"""Matching the two sides: nodes to nodes and values to values."""
