"""Parameters that are apart while the others are the very same: before any update nothing rounds.

Two runs begin with one checkpoint, whose numbers are moved and cut but not computed: each is the
same in both but for one rounding, where a run stores it in a coarser format. A tolerance that is
made for computed values, several per cent in bfloat16, hides a share of a weight that is off. Once
an optimizer has moved weights by gradients that are rounded otherwise, no two are the same and the
tolerance is right. Which of both it is the parameters themselves tell.
"""

from __future__ import annotations

import numpy as np

from builder.compare.comparison import Comparison
from builder.compare.score import coarsest_epsilon
from builder.compare.statistics import Bools

# How far the recorded numbers of one tensor in two layouts may be apart: twice log₂n roundings of
# single precision (`builder/ranks/joining/tolerances.py`), for n = 2³² elements.
_RECORDED = 2 * 32 * 2.0**-24


def unlike_parameters(comparison: Comparison) -> Bools:
    """Which rows are parameters that a forward pass reads, apart by more than rounding beside
    others that are not apart at all.

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
    if np.median(error[told]) > _RECORDED:
        return none
    rounding = coarsest_epsilon(comparison.setting.precision)
    return np.asarray(read & (error > max(rounding, _RECORDED)))
