"""How far apart two values are: statistics, tensors, checksums, arguments."""
