"""What two versions of the diagnosis say of the same recorded pairs, and which of them is right."""
