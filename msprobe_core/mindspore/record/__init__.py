"""Values of MindSpore as records: NumPy arrays, their numbers, sketches and files."""
