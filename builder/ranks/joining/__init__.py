"""Decides how each value lies over the ranks, and joins its parts into one."""
