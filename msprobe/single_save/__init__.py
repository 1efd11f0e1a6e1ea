"""Saves single values of a run as NumPy files, and compares what two runs saved.

Python only: `from msprobe.core import SingleSave, SingleComparator`.
"""

from msprobe.single_save.comparator import SingleComparator
from msprobe.single_save.saver import SingleSave

__all__ = ["SingleComparator", "SingleSave"]
