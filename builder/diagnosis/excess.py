"""How many times further apart a value is than is expected of it, and who put it out."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal

from builder.flow.feeding import NOWHERE
from builder.match.tree import TreeNode

# A call that computes as in the other run is named from this excess on. Both distances may be
# estimates of eight projections: one is PLAIN × ESTIMATED = 6 times the other, where they are the
# same, once in 57,000 calls (F with 8 and 8 degrees of freedom above 36: Σⱼ₌₄⁷ C(7,j)xʲ(1-x)⁷⁻ʲ
# with x = 1/37).
PLAIN = 3.0
# What a call of which nothing is known makes of the shares by which its inputs are apart.
UNKNOWN = 4.0
# By what share results may be off where an optimizer left the weights of two runs apart by theirs:
# a call makes UNKNOWN times that of it, and anything is named that is PLAIN times off.
OF_WEIGHTS = PLAIN * UNKNOWN
# Put out by partners and moved since; by a call that one run alone makes; by two that are no
# partners; by none that is recorded.
Way = Literal["moved", "changed", "rewired", "outside"]
# What is within so many roundings of another value may be its rounding.
FORMS = 3.0


@dataclass(frozen=True, slots=True)
class Makers:
    """The nodes that put out both sides of a value, and the value pair's indices there."""

    ours: TreeNode | None
    theirs: TreeNode | None
    outputs: tuple[int, int] = (NOWHERE, NOWHERE)


@dataclass(frozen=True, slots=True)
class Excess:
    """How many times further apart a value is than expected; `came` is what its inputs explain.

    `told` says that a bound told what to expect, and not a guess.
    """

    times: float
    row: int
    way: Way = "outside"
    makers: Makers | None = None
    came: float = 0.0
    told: bool = False


NO_EXCESS = Excess(0.0, -1)


def excess_over(
    distance: float,
    expected: float,
    row: int,
    way: Way = "moved",
    makers: Makers | None = None,
    came: float = 0.0,
    told: bool = False,
) -> Excess:
    """The excess of a distance over what is expected; none over what anything may follow from."""
    if expected == inf or distance == 0:
        return NO_EXCESS
    times = distance / expected if expected > 0 else inf
    return Excess(times, row, way, makers, came, told)
