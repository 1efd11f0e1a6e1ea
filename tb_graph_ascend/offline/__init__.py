"""Writes a result as one page that needs no server."""
