"""Ports of published packages: the model of one against that of another, with its weights."""
