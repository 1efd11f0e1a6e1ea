"""Both sides of a pair as one list of rows: merged, folded, windowed, with what flows beside it."""
