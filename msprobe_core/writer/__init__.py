"""Writes a step's files so that they are readable at every moment, also after a kill."""
