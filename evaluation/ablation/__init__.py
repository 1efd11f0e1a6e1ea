"""What each part and each number of the diagnosis does, told by every suite without it."""
