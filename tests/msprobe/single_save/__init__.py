"""Tests of SingleSave and SingleComparator."""
