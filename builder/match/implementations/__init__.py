"""Pairs the modules of two programs of one model, whatever they call them: by their weights."""
