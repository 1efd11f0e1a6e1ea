"""Tests mirror builder/diagnosis/policies."""
