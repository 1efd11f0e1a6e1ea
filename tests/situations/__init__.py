"""A core of `make situations`."""
