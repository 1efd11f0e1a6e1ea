"""How far apart two sound ways of computing one value lie, from its format and number of terms.

Three sources, each with its own bound (u = ε/2 is the unit roundoff of a format, ε its epsilon):

* *Recorded numbers.* Mean and norm are sums of n terms, in float64 on a CPU, in single precision
  and in pairs on a device: they are off by at most log₂n · u₃₂ of the sum of magnitudes (Higham,
  Accuracy and Stability, 4.2). Copies on two ranks differ by nothing else. (`torch.norm` on a CPU
  adds one square behind the other: 10⁻³ off for 2·10⁷ elements. Two ranks do so alike.)
* *Sums over K ranks.* Each of the K - 1 additions rounds to the format, by at most u times what has
  been added so far, so |Σ̂ - Σ| ≤ (K - 1) · u · Σ|xₖ|, and its mean by so much of the sum of means
  of magnitudes, which root mean squares bound. A part rounded on its own rank is off by u·‖xₖ‖, the
  whole therefore by u·√Σ‖xₖ‖², however much of it cancels.
* *Two runs.* Through d blocks rounding grows to k · Cᵈ · ε of a value, the tolerance that values
  are compared with.

An error is looked at on the log scale from the last of these to 100 %: up to a quarter of the way
two values are the same, as the diagnosis takes them for; up to the middle a reading is nearer to
being right than to being another value, all of which miss by a share that does not depend on the
format. The least of these shares bounds that: the norm of one of two halves misses by 1 - 1/√2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from msprobe_core.format import machine_epsilon

Floats = NDArray[np.float64]
_SINGLE = 2.0**-24  # u of float32, in which or better numbers are recorded
# Of the way from rounding to 100 %: that of the threshold of a score, so that what is joined as the
# same is never a finding; and the middle, where both ends are equally far.
_SAME, _NEARER = 0.25, 0.5
_OTHER_READING = 1.0 - 0.5**0.5


def epsilon_of(dtypes: Iterable[str | None]) -> float:
    """The coarsest machine epsilon among dtypes, that of float32 where none is floating."""
    known = [machine_epsilon(dtype) for dtype in dtypes if dtype is not None]
    return max((e for e in known if e is not None), default=2 * _SINGLE)


def recorded_rounding(count: float) -> float:
    """How far the recorded numbers of a tensor of `count` elements may be off.

    Those of two copies, added up in other orders, may be apart by twice that.
    """
    return float(np.log2(max(count, 2.0))) * _SINGLE


def sum_rounding(terms: int, epsilon: float, count: float) -> float:
    """How far a sum over ranks may be off, in units of the sum of its terms' magnitudes.

    `count` is the number of elements of a term, whose own numbers are recorded.
    """
    return (terms - 1) * epsilon / 2 + 2 * recorded_rounding(count)


def same(rounding: Floats | float) -> Floats:
    """The error up to which two values are the same thing, by their rounding."""
    return np.minimum(np.power(rounding, 1.0 - _SAME), _OTHER_READING)


def nearer(rounding: Floats | float) -> Floats:
    """The error up to which a reading of a value is nearer to right than to wrong."""
    return np.minimum(np.power(rounding, 1.0 - _NEARER), _OTHER_READING)


def which_are_off(errors: Sequence[float], rounding: float) -> list[bool]:
    """Which parts of one value are off, by their errors against the other run; NaN counts as off.

    The least error is the noise that all have, of whatever it comes: parts are off that are no more
    the same by it. All False where none stands out, or all do.
    """
    known = [error for error in errors if error == error]  # noqa: PLR0124 - NaN is no number
    limit = float(same(max([rounding, min(known, default=np.inf)])))
    off = [not error <= limit for error in errors]
    return off if not all(off) else [False] * len(off)


def unlike_copies(apart: Floats) -> Floats:
    """The errors of what should be copies on ranks of one run; 1 at least where they are none.

    Ranks compute copies by the same calls on the same numbers: whatever their format, they agree as
    recorded numbers do. Shards of one weight may agree to a few per cent, which a coarse format
    would take for rounding.
    """
    return np.where(apart > nearer(4.0 * 2 * _SINGLE), np.fmax(apart, 1.0), apart)


def amplified(rounding: Floats, parts: Floats, whole: Floats) -> Floats:
    """The rounding of sums, relative to the whole: of parts that cancel it is that of the parts.

    `parts` are √Σ‖xₖ‖² and `whole` norms, NaN where unknown.
    """
    with np.errstate(all="ignore"):
        grown = np.nan_to_num(parts / whole, nan=1.0, posinf=1.0)
    return np.asarray(rounding * np.maximum(grown, 1.0))


@dataclass(frozen=True, slots=True)
class Roundings:
    """How values of two runs are rounded.

    `epsilon` is that of the coarser run's working precision, whatever the dtype of a value says;
    `growth` is k · Cᵈ by entry of the problem, `usual` that of what is not listed.
    """

    epsilon: float = 2 * _SINGLE
    growth: Mapping[str, float] = field(default_factory=dict)
    usual: float = 4.0

    def of(self, entry: str, dtypes: Iterable[str | None]) -> float:
        """The rounding of an entry's value in both runs, relative to its size."""
        epsilon = max(self.epsilon, epsilon_of(dtypes))
        return min(self.growth.get(entry, self.usual) * epsilon, 1.0)
