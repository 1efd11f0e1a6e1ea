"""Faults below the recorded calls: a kernel that computes something else than its name says."""
