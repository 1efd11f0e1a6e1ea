"""Joins the ranks of one step into one logical dump: what one process would have recorded."""
