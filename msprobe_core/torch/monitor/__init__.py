"""Follows a training of PyTorch over its steps: what is measured when, and over which ranks."""
