"""`from msprobe.pytorch.compare.pt_diff_analyze import pt_diff_analyze`."""

from msprobe.pytorch.compare.tables import pt_diff_analyze

__all__ = ["pt_diff_analyze"]
