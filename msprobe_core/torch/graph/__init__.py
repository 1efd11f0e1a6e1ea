"""Records inside compiled and captured graphs: an operator that a graph may hold, and its log."""
