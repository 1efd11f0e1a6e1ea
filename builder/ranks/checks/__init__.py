"""What the ranks of one run say about each other, without a benchmark."""
