"""Tests of faultbench: its faults are faults, its metrics reach both ends of their scale."""
