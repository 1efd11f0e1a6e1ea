"""Writes a result database (`*.vis.db`): its tables, the rows of a pair, the file."""
