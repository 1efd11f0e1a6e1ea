"""Which output fed which input: found once a side, read by the diagnosis and the result."""
