"""Runs the pairs of a build, here, on a cluster or in units: the builder's front door."""
