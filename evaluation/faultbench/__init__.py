"""Numerical faults in small PyTorch programs, to judge tools that say where two runs differ.

Needs Python 3.11 and torch; `python -m faultbench --help` says what it does.
"""
