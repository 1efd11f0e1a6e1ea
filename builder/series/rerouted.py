"""What two runs computed from other tokens: one that lay between two experts went to either.

Rounding decides such a tie. It is seen where a module gives another number of elements in one run
than in the other. In that step the numbers of this module are of other tokens and say nothing, and
so do gradients inside the module around it that is of the same tokens again (the router's among
them); what the optimizer keeps of these says nothing new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from builder.series.next_dump import module_of
from builder.series.pieces import Steps
from builder.series.run import Key, TrendRun

Mask = NDArray[np.bool_]
_OUTPUTS = frozenset({"actv", "actv_grad"})


@dataclass(frozen=True, slots=True)
class Rerouted:
    """[step][target]: `aside` cannot be compared; `kept` is noise, but what is left of it counts as
    noise of the steps that follow.
    """

    aside: Mask
    kept: Mask

    def __getitem__(self, rows: slice) -> Rerouted:
        """Those of some steps."""
        return Rerouted(self.aside[rows], self.kept[rows])


def rerouted(problem: TrendRun, benchmark: TrendRun, keys: Sequence[Key], steps: Steps) -> Rerouted:
    """What is of other tokens; a step whose first output has another size is another batch."""
    aside, kept = (np.zeros((len(steps), len(keys)), dtype=bool) for _ in range(2))
    outputs = [i for i, (kind, _) in enumerate(keys) if kind in _OUTPUTS]
    if not outputs:
        return Rerouted(aside, kept)
    chosen = [keys[i] for i in outputs]
    mine, theirs = (run.values_at(steps, chosen, "size") for run in (problem, benchmark))
    other = (mine != theirs) & np.isfinite(mine) & np.isfinite(theirs)
    other &= ~other[:, :1]
    aside[:, outputs] = other
    around = _around(chosen, other)
    for column, key in enumerate(keys):
        owner = module_of(key)
        if key[0] not in _OUTPUTS and owner is not None:
            affected = aside if key[0] == "grad" else kept
            for module in (module for module in around if _is_inside(owner, module)):
                affected[:, column] |= around[module]
    return Rerouted(aside, kept)


def _around(outputs: Sequence[Key], other: Mask) -> dict[str, Mask]:
    """The steps at which tokens changed places inside of each module, the innermost one around."""
    columns = {
        name.partition("[")[0]: i for i, (kind, name) in enumerate(outputs) if kind == "actv"
    }
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


def _is_inside(module: str, outer: str) -> bool:
    return not outer or module == outer or module.startswith(f"{outer}.")
