"""Distances decide: a call, an edge or a module is asked whether what it read explains it."""
