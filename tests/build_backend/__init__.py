"""Tests of how the distribution is built."""
