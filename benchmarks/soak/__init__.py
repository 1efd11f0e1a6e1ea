"""Load, faults and hostile input: what is tried and lost; `make soak` writes the table."""
