"""Tests of the comparison of checkpoints."""
