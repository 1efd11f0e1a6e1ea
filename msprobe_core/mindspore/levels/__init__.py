"""What two levels alone record: kernels of static graphs (L2), values by name (debug)."""
