"""The pre-check: runs each recorded call again, alone, on a device and on a more precise reference,
and says which operators compute what their format, their sums and their condition do not explain.
"""
