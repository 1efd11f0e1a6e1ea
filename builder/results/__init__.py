"""Reads result files, ours and msprobe's own: queries, reports, manual pairs."""
