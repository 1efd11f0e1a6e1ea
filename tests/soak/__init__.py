"""The trials of `make soak` in small numbers."""
