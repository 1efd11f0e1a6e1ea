"""How far beyond its own noise a target has to be for a parting, target by target.

Without anything better these are constants, which sound pairs of many trainings stayed below;
`noise` learns them from a twin of the very training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from builder.series.run import Key

Floats = NDArray[np.float64]

_RISE, _LEAP, _RISE_OF_AVERAGES = 3.0, 5.0, 6.0
"""Octaves above the largest so far, for four steps and for one. Six sound pairs of
`evaluation/trend_cases/pairs.py` (weights off by 1e-6 and 1e-4 of themselves, 230 steps) rose by
2.6 and 3.6 at most; averages over many steps, whose four steps are hardly more than one, by 4.3."""
_SETTLED = 2.0
"""Octaves above noise that grows no more. There outputs, losses, gradients and weights of 33 sound
pairs (`evaluation/trend_cases/unseen.py`, seeds 23 to 25) rose in one step by one octave at most,
gradients of outputs by 1.8."""
_BOUNDED = frozenset({"actv", "loss", "grad", "param"})
_AVERAGES = frozenset({"exp_avg", "exp_avg_sq", "ratio"})
_STAYING = {"actv": 4.8, "param": 5.7}
_WITH_UPDATE = 10.1
"""log2 of units, one octave above what six sound pairs of `evaluation/trend_cases/pairs.py` reach:
3.8 for outputs and 4.7 for weights that stay moved, 9.1 for the sum of a gradient's move and its
own update's that stays moved."""


@dataclass(frozen=True, slots=True)
class Limits:
    """[target] of each; infinite where a rule does not hold for one.

    `rise` and `leap`: octaves above what is expected, for four steps and for one. `settled`:
    octaves in one step above noise that has settled. `staying`: log2 of usual moves of what stays
    moved; `with_update` of a gradient's and its update's together. `jump`: log2 of octaves that
    weights and updates have to move apart by in one step besides, whatever their rule.
    """

    rise: Floats
    leap: Floats
    settled: Floats
    staying: Floats
    with_update: Floats
    jump: Floats

    @classmethod
    def of(cls, keys: Sequence[Key]) -> Limits:
        """Those of the rules."""
        kinds = np.asarray([kind for kind, _ in keys])
        averaged = np.isin(kinds, sorted(_AVERAGES))
        return cls(
            np.where(averaged, _RISE_OF_AVERAGES, _RISE),
            np.where(averaged, np.inf, _LEAP),
            np.where(np.isin(kinds, sorted(_BOUNDED)), _SETTLED, np.inf),
            np.asarray([_STAYING.get(kind, np.inf) for kind, _ in keys]),
            np.where(kinds == "grad", _WITH_UPDATE, np.inf),
            np.full(len(keys), -np.inf),
        )
