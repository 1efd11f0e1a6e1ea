"""What counts as a beginning where elements were seen, and where not: two answers to one loop."""
