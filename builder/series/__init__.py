"""Trends of a training: reading them while they grow, two runs over each other, where they part."""
