"""Tests of the inspection of dumps."""
