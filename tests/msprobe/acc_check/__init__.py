"""Tests of the pre-check."""
