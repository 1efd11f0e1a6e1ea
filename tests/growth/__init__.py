"""A guard against work that grows faster than what it is done for: counted, never timed."""
