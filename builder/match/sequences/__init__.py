"""Rows are tokens: aligns what a trainer and an engine computed of the same requests."""
