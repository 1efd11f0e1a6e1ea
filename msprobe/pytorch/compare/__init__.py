"""Comparing from Python, under every name that users' scripts have for it.

>>> from msprobe.pytorch.compare.pt_compare import pt_compare   # today's
>>> from msprobe.pytorch import compare, compare_distributed    # before 2025-11
"""

from __future__ import annotations

import sys
from types import ModuleType

from msprobe.pytorch.compare.former import compare, compare_distributed

__all__ = ["compare", "compare_distributed"]


class _CallablePackage(ModuleType):
    """`msprobe.pytorch.compare` is a package today and was a function: both must go on."""

    __call__ = staticmethod(compare)


sys.modules[__name__].__class__ = _CallablePackage
