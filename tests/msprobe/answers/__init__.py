"""What programs may ask: each answer, its bounds, and the server that gives it."""
