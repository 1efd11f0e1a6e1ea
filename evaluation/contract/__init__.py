"""The calls that inference engines and training recipes make, reproduced on a small model.

They import `msprobe.pytorch` and nothing of ours besides: what passes here runs unmodified there.
"""
