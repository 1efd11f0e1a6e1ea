"""What two runs computed from other tokens: one that lay between two experts went to either.

Rounding decides such a tie. It is seen where a module gives another number of elements in one run
than in the other. In that step the numbers of all experts beside it are of other tokens, too, since
one that gave a token away may have got another; they say nothing, and so do gradients inside the
module around them that is of the same tokens again (the router's among them); what the optimizer
keeps of these says nothing new. Where ties were decided otherwise a while ago, as many tokens may
come as go: equal numbers of elements are no proof of equal tokens then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from builder.series.next_dump import module_of
from builder.series.pieces import Steps, Values
from builder.series.run import Key, TrendRun

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
_OUTPUTS = frozenset({"actv", "actv_grad"})
_A_WHILE = 64
"""Steps; those that the usual noise is measured over."""


@dataclass(frozen=True, slots=True)
class Rerouted:
    """[step][target]: `aside` cannot be compared; `kept` is noise, but what is left of it counts as
    noise of the steps that follow; `unsure` may be of other tokens: one step proves nothing.
    `apart` is log2 of root mean squares of one run by the other's for outputs of experts, else NaN.
    """

    aside: Mask
    kept: Mask
    unsure: Mask
    apart: Floats

    @classmethod
    def nowhere(cls, steps: int, targets: int) -> Rerouted:
        """All were computed of the same tokens."""
        aside, kept, unsure = (np.zeros((steps, targets), dtype=bool) for _ in range(3))
        return cls(aside, kept, unsure, np.full((steps, targets), np.nan))

    def __getitem__(self, rows: slice) -> Rerouted:
        """Those of some steps."""
        return Rerouted(self.aside[rows], self.kept[rows], self.unsure[rows], self.apart[rows])


def rerouted(problem: TrendRun, benchmark: TrendRun, keys: Sequence[Key], steps: Steps) -> Rerouted:
    """What is of other tokens; a step whose first output has another size is another batch."""
    found = Rerouted.nowhere(len(steps), len(keys))
    outputs = [i for i, (kind, _) in enumerate(keys) if kind in _OUTPUTS]
    if not outputs:
        return found
    chosen = [keys[i] for i in outputs]
    mine, theirs = (run.values_at(steps, chosen, "size") for run in (problem, benchmark))
    of_experts = np.zeros(len(chosen), dtype=bool)
    other = (mine != theirs) & np.isfinite(mine) & np.isfinite(theirs)
    other &= ~other[:, :1]
    found.aside[:, outputs] = other
    for module, changed in _around(chosen, other).items():
        lately = _lately(changed)
        experts = _routed(chosen, mine, module) | _routed(chosen, theirs, module)
        of_experts |= experts
        columns = np.asarray(outputs)[experts]
        found.aside[:, columns] |= changed[:, None]
        found.unsure[:, columns] |= lately[:, None]
        for column, key in enumerate(keys):
            owner = module_of(key)
            if key[0] not in _OUTPUTS and owner is not None and _is_inside(owner, module):
                (found.aside if key[0] == "grad" else found.kept)[:, column] |= changed
                found.unsure[:, column] |= lately
    for place in np.flatnonzero(of_experts).tolist():
        key = chosen[place]
        if key[0] == "actv":
            one, two = (run.values_at(steps, [key])[:, 0] for run in (problem, benchmark))
            found.apart[:, outputs[place]] = _apart(one, two, mine[:, place], theirs[:, place])
    return found


def _apart(one: Values, other: Values, size: Values, other_size: Values) -> Floats:
    """log2 of one root mean square by the other; NaN where one was not measured."""
    with np.errstate(all="ignore"):
        squares = (one.astype(np.float64) ** 2 / size) / (
            other.astype(np.float64) ** 2 / other_size
        )
        found: Floats = np.log2(squares) / 2
    return np.where(np.isfinite(found), found, np.nan)


def _around(outputs: Sequence[Key], other: Mask) -> dict[str, Mask]:
    """The steps at which tokens changed places inside of each module, the innermost one around."""
    columns = _columns(outputs)
    found: dict[str, Mask] = {}
    for module, column in columns.items():
        left = other[:, column].copy()
        outer = module
        while left.any() and outer:
            outer = outer.rpartition(".")[0]
            if outer in columns or not outer:
                same = left & ~other[:, columns[outer]] if outer else left
                found[outer] = found.get(outer, np.zeros_like(left)) | same
                left &= ~same
    return found


def _routed(outputs: Sequence[Key], sizes: Values, module: str) -> Mask:
    """Which outputs inside of a module are of a part of its tokens that is not always the same."""
    whole = sizes[:, _columns(outputs).get(module, 0)].astype(np.float64)
    with np.errstate(all="ignore"):
        shares = sizes / whole[:, None]
    shares[~(np.isfinite(whole) & (whole > 0))] = np.nan  # what is not measured is a part, too
    names = (name.partition("[")[0] for _, name in outputs)
    inside = np.asarray([name != module and _is_inside(name, module) for name in names])
    with np.errstate(all="ignore"):
        varies: Mask = np.fmax.reduce(shares) > np.fmin.reduce(shares)
    found: Mask = varies & inside
    return found


def _columns(outputs: Sequence[Key]) -> dict[str, int]:
    return {name.partition("[")[0]: i for i, (kind, name) in enumerate(outputs) if kind == "actv"}


def _lately(changed: Mask) -> Mask:
    """Whether it happened in a step or in one of those before it."""
    count = np.concatenate([np.zeros(_A_WHILE, np.intp), changed.cumsum()])
    lately: Mask = count[_A_WHILE:] > count[: len(changed)]
    return lately


def _is_inside(module: str, outer: str) -> bool:
    return not outer or module == outer or module.startswith(f"{outer}.")
