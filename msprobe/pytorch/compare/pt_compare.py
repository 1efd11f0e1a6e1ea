"""`from msprobe.pytorch.compare.pt_compare import pt_compare`."""

from msprobe.pytorch.compare.tables import pt_compare

__all__ = ["pt_compare"]
