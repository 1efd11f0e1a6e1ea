"""Which functions of torch are calls of interest, and the names that users know them by."""
