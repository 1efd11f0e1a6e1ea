"""`from msprobe.pytorch.compare.distributed_compare import compare_distributed`."""

from msprobe.pytorch.compare.former import compare_distributed

__all__ = ["compare_distributed"]
