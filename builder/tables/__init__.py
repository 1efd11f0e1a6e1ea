"""Comparisons as the csv and xlsx tables that users of mindstudio-probe post-process."""
