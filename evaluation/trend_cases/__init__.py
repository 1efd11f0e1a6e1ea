"""Trainings with and without faults, followed as trends: what is said of them, and what is not."""
