"""What two levels alone record: kernels below calls (L2), values that a script names (debug)."""
