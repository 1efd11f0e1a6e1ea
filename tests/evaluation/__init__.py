"""Tests of what lies in `evaluation/`."""
