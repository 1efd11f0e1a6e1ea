"""A trainer and an engine of one model and the same tokens: sound, and with faults."""
