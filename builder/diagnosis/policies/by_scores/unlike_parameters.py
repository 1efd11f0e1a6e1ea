"""Parameters that are apart while all others are the very same: before an update nothing rounds.

Two runs begin with one checkpoint, whose numbers are moved and cut but not computed. A tolerance
that is made for computed values, several per cent in bfloat16, hides a share of a weight that is
off. Once gradients that are rounded otherwise have moved weights the tolerance is right: a first
step of Adam, whose size knows no gradient, leaves many the very same, some a rounding apart, and a
few by as much as a step where the gradient is nothing but rounding. So those that are apart by no
more than the tolerance tell of an update.
"""

from __future__ import annotations

import numpy as np

from builder.compare.comparison import Comparison
from builder.compare.statistics import Bools

# How far the recorded numbers of one tensor in two layouts may be apart: twice log₂n roundings of
# single precision (`builder/ranks/joining/tolerances.py`), for n = 2³² elements.
_RECORDED = 2 * 32 * 2.0**-24


def unlike_parameters(comparison: Comparison) -> Bools:
    """Which rows are parameters that a forward pass reads, apart by more than their tolerance where
    all others are not apart at all.

    Those that the optimizer of the step updates have to be: what is never updated stays the same.
    Where a step has gradients and no record of its optimizer, nothing tells which these are.
    """
    nodes, error = comparison.matching.problem.in_order, comparison.scores.error
    is_parameter = np.array([key.startswith("parameters.") for key in comparison.keys], dtype=bool)
    phases = np.array([node.phase for node in nodes])[comparison.pairs.node]
    known = is_parameter & ~np.isnan(error)
    read, updated = known & (phases == "forward"), known & (phases == "after")
    told = updated if updated.any() else read
    none = np.zeros(len(error), dtype=bool)
    if not told.any() or (not updated.any() and any(node.holds_gradients for node in nodes)):
        return none
    apart, same = error > np.maximum(comparison.scores.limit, _RECORDED), error <= _RECORDED
    is_untouched = (same | apart)[told].all() and 2 * same[told].sum() > told.sum()
    return np.asarray(read & apart) if is_untouched else none
