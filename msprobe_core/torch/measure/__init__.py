"""The numbers of a tensor: statistics, sketch and checksum, on whatever device it lies."""
