"""Real architectures recorded at every level, and checked against torch's own hooks."""
