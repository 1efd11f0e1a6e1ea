"""Where each rank stands: the axes of the run, the names and the micro-batches of its calls."""
