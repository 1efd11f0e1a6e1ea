"""The score of a value: its relative error on a log scale between rounding and 100 %.

tol = k · C^depth · eps follows the error analysis of TTrace (arXiv 2506.09280); depth counts the
repeated blocks passed since the input (forward) or since the loss (backward).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from builder.compare.statistics import Floats
from builder.match.tree import Tree, TreeNode, subtree
from msprobe_core.format import canonical_dtype, machine_epsilon

_FALLBACK_DTYPE = "float32"
# The formula is calibrated on stacks of layers. In a generation loop or a very deep stack an
# exponential would soon excuse anything.
_DEEPEST = 128
# A node diverges above this score: a quarter of the way, on the log scale, from the rounding of its
# format to 100 %. At the input that is e > (4 eps)^0.75: 1.8e-5 in float32, 7.4 % in bfloat16.
THRESHOLD = 0.25
# No tolerance is larger, however coarse a format and deep a stack: k · C^depth · eps is a law of
# small errors, and in bfloat16 it reaches 1 behind 118 blocks, where anything would agree. Rounding
# leaves most of a value right; half of it wrong is what a factor of two or a lost branch makes. An
# error of one half has to diverge at any depth, and e diverges above tol^(1 - THRESHOLD): so
# LARGEST^(1 - THRESHOLD) = 1/2. That is 86 blocks of bfloat16, and no other format gets there.
LARGEST = 0.5 ** (1 / (1 - THRESHOLD))
_NO_BLOCK = -1  # the depth of the block that the walk is in, when it is in none


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The constants of the tolerance: `factor` is k, `growth` is C."""

    factor: float = 4.0
    growth: float = 1.03

    def grown(self, depth: Floats) -> Floats:
        """The tolerance k · C^depth in units of epsilon; depths above _DEEPEST count as that."""
        return np.asarray(self.factor * self.growth ** np.minimum(depth, _DEEPEST))

    def of(self, depth: Floats, epsilon: Floats) -> Floats:
        """The tolerance at some depths for some machine epsilons, LARGEST at most."""
        return np.asarray(np.minimum(self.grown(depth) * epsilon, LARGEST))


def score_of(error: Floats, tolerance: Floats) -> Floats:
    """clip(log(e/tol) / log(1/tol), 0, 1): 0 inside the tolerance, 1 at 100 % error.

    NaN errors (nothing comparable) stay NaN; all tolerances are below 1.
    """
    assert not (tolerance >= 1).any(), "a tolerance of all there is leaves no scale"
    with np.errstate(all="ignore"):
        score = np.clip(np.log(error / tolerance) / -np.log(tolerance), 0.0, 1.0)
    return np.asarray(np.where(np.isnan(error), np.nan, np.where(error == 0, 0.0, score)))


def base_precision(dtypes: Iterable[tuple[str | None, int]]) -> str:
    """The floating dtype that most values carry, of dtypes with counts; float32 where none is.

    A loss computed on `logits.float()` is fp32 by name and bf16 by content: this tells.
    """
    floating: Counter[str] = Counter()
    for dtype, count in dtypes:
        if count and dtype is not None and machine_epsilon(dtype) is not None:
            floating[canonical_dtype(dtype)] += count
    return floating.most_common(1)[0][0] if floating else _FALLBACK_DTYPE


def coarsest_epsilon(dtypes: Iterable[str | None]) -> float:
    """The largest machine epsilon among dtypes; those that are not floating do not count."""
    known = [machine_epsilon(dtype) for dtype in dtypes if dtype is not None]
    floating = [epsilon for epsilon in known if epsilon is not None]
    epsilon = machine_epsilon(_FALLBACK_DTYPE)
    assert epsilon is not None
    return max(floating, default=epsilon)


def block_depths(tree: Tree) -> Floats:
    """Per node in execution order: how many repeated blocks its pass has entered before or with it.

    A repeated block is a numbered submodule (`layers.3`) or a later call of the same module, not
    inside another repeated block. Each forward and each backward pass counts from 0.
    """
    depths = [0] * len(tree.in_order)
    counts: Counter[tuple[str | None, int]] = Counter()
    block = _NO_BLOCK
    for node in subtree(tree.root):
        key = (node.direction, node.micro_step)
        if node.depth <= block:
            block = _NO_BLOCK
        if block == _NO_BLOCK and _is_repeated(node):
            block = node.depth
            counts[key] += 1
        depths[node.exec_order] = counts[key]
    return np.array(depths, dtype=np.float64)


def _is_repeated(node: TreeNode) -> bool:
    entry = node.entry
    if entry is None or entry.kind != "module":
        return False
    return entry.path.rpartition(".")[2].isdigit() or bool(entry.call and not node.micro_step)
