"""Turns tensors and arguments into the records and files of a dump."""
