"""Folders on this machine's file systems, and on others that fsspec knows by an address."""
