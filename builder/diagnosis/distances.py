"""The L2 distances of a comparison, and what rounding alone leaves of a value."""

from __future__ import annotations

from math import inf
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from builder.compare.comparison import Comparison
from builder.compare.mask_constants import hold_masks
from builder.compare.rounding import ROUNDED, underflow
from builder.compare.statistics import Bools, Floats, Statistics
from builder.diagnosis.paired_values import PairedValues
from builder.match.tree import TreeNode
from msprobe_core.format import machine_epsilon

# Sums are carried in float32 at least; in another order they leave a few roundings of that.
SUMMED = 4.0
CARRIED = SUMMED * 2.0**-23
# Projections of a sketch are stored in float32: a distance that they tell may be off by so much.
_RESOLUTION = 2.0**-21
_SINGLE = 2.0**-23


class Distances(PairedValues):
    """What is known of how far apart the two sides of each row are.

    By row: `distance` (measured, estimated, or guessed from the statistics where no element was
    seen; infinite for NaN and infinities on one side), `norm` of the larger side without masks,
    `share` = distance / norm, `noise` = the distance that one rounding leaves, `unit` = the
    rounding that one term of a sum brings in, `largest` and `smallest` magnitude, `mean`, `size`;
    `hidden` where masks or infinities hide the rest and no sketch leaves them out; `partial` where
    a sketch leaves elements out.
    """

    def __init__(self, comparison: Comparison) -> None:
        super().__init__(comparison)
        ours, theirs = comparison.statistics
        seen, measured = self._seen()
        with np.errstate(all="ignore"):
            larger = np.fmax(np.abs(ours.table), np.abs(theirs.table))
            masked = hold_masks(ours.table[:2]) | hold_masks(theirs.table[:2])
            lost = _lost(ours) & theirs.nonfinite | _lost(theirs) & ours.nonfinite
            norm = np.nan_to_num(self._norms(larger, masked), posinf=0.0)
            distance = np.where(lost, 0.0, self._distances(norm, seen))
            share = np.where(distance == 0, 0.0, np.where(norm > 0, distance / norm, inf))
            extremes = np.concatenate((ours.table[:2], theirs.table[:2]))
        self.seen: list[bool] = seen.tolist()
        self.measured: list[bool] = measured.tolist()
        # NaN beside infinity or NaN: a sketch leaves other elements out on either side.
        self.hidden: list[bool] = ((masked & ~seen) | lost).tolist()
        self.partial: list[bool] = (masked | ours.nonfinite | theirs.nonfinite).tolist()
        self.known: list[bool] = (~np.isnan(comparison.error)).tolist()
        self.norm: list[float] = norm.tolist()
        self.distance: list[float] = distance.tolist()
        self.share: list[float] = share.tolist()
        self.size: list[float] = theirs.size.tolist()
        self._set_rounding(norm)
        self._set_extremes(extremes, norm, np.nan_to_num(larger[2], posinf=0.0), masked)
        tensors = self.tensors[0] & self.tensors[1]
        self._is_tensor: list[bool] = tensors.tolist()
        self.differing: set[int] = set(comparison.pairs.node[(distance > 0) & tensors].tolist())

    def inputs(self, node: TreeNode) -> list[int]:
        """The rows of tensors that an entry lists as read, parameters among them."""
        is_output = self.comparison.is_output
        return [r for r in self.rows(node) if not is_output[r] and self._is_tensor[r]]

    def outputs(self, node: TreeNode) -> list[int]:
        """The rows of tensors that an entry puts out."""
        is_output = self.comparison.is_output
        return [r for r in self.rows(node) if is_output[r] and self._is_tensor[r]]

    def parameters(self, node: TreeNode) -> list[int]:
        """The rows of a module's own parameters."""
        keys = self.comparison.keys
        return [r for r in self.inputs(node) if keys[r].startswith("parameters.")]

    def tensor_rows(self, node: TreeNode) -> list[int]:
        """The rows of all tensors of an entry that both sides have."""
        return [r for r in self.rows(node) if self._is_tensor[r]]

    def uncertain(self, row: int) -> float:
        """How much larger a distance may be than what is known of it."""
        if self.measured[row] or (self.distance[row] == 0 and not self.seen[row]):
            return 0.0
        return (_RESOLUTION if self.seen[row] else self.epsilon[row]) * self.norm[row]

    def most(self, rows: list[int]) -> float:
        """The largest share by which one of some rows is apart."""
        return max((self.share[r] for r in rows if not self.hidden[r]), default=0.0)

    def is_rounded(self, row: int) -> bool:
        """Whether one rounding explains how far apart a row is; integers know none."""
        if self.is_integer(row):
            return self.distance[row] == 0
        return self.distance[row] <= self.noise[row]

    def _seen(self) -> tuple[Bools, Bools]:
        measured = np.zeros(len(self.comparison.error), dtype=bool)
        measured[list(self.comparison.tensors)] = True
        estimates = self.comparison.estimates
        if estimates is None:
            return measured.copy(), measured
        return measured | np.isfinite(estimates.distance), measured

    def _norms(self, larger: Floats, masked: Bools) -> Floats:
        """The norm of the larger side: of what the sketches cover where the other counts masks."""
        norm = np.where(np.isfinite(larger[3]), larger[3], np.nan)
        peak = np.fmax(larger[0], larger[1])
        size = self.comparison.statistics[1].size
        # Integers have no norm recorded.
        norm = np.where(np.isnan(norm) & np.isfinite(peak) & ~masked, peak * np.sqrt(size), norm)
        covered = self._covered()
        return norm if covered is None else np.where(masked | np.isnan(norm), covered, norm)

    def _covered(self) -> Floats | None:
        pairs = self.comparison.pairs
        if self.comparison.estimates is None:
            return None
        sides = zip(self.comparison.columns, (pairs.problem, pairs.benchmark))
        norms = [np.sqrt(np.mean(own.take_sketches(at) ** 2, axis=1)) for own, at in sides]
        return np.asarray(np.fmax(*norms))

    def _distances(self, norm: Floats, seen: Bools) -> Floats:
        comparison = self.comparison
        known = ~np.isnan(comparison.error)
        distance = np.nan_to_num(comparison.distance, nan=0.0, posinf=inf)
        ours, theirs = comparison.statistics
        # Statistics alone give a least distance, that of one number exactly; the share by which
        # they differ is a guess of it, of at most both norms (the triangle's inequality).
        guess = np.fmin(comparison.judged * norm, ours.table[3] + theirs.table[3])
        guess = np.where(
            np.maximum(ours.size, theirs.size) > 1, np.nan_to_num(guess, posinf=0.0), 0
        )
        distance = np.where(seen, distance, np.fmax(distance, guess))
        one_sided = (ours.nonfinite != theirs.nonfinite) | ~np.isfinite(comparison.distance)
        distance[np.isinf(comparison.judged) & one_sided] = inf
        distance[~known] = 0.0
        shapes = zip(self.ours, self.theirs)
        reshaped = np.array([ours.shape != theirs.shape for ours, theirs in shapes], dtype=bool)
        both = self.tensors[0] & self.tensors[1]
        return np.asarray(np.where(reshaped & both & known, norm, distance))

    def _set_rounding(self, norm: Floats) -> None:
        """Where both runs compute in one format, a value is rounded in its own; else in theirs.

        A compiler that keeps digits leaves out roundings of theirs that eager values have.
        """
        ours, theirs = self.comparison.precision
        matching = self.comparison.matching
        keeps = matching.problem.dump.keeps_digits or matching.benchmark.dump.keeps_digits
        in_its_own = ours == theirs and not keeps
        working = max(machine_epsilon(dtype) or 0.0 for dtype in (ours, theirs))
        held = np.nan_to_num(np.fmin(self._epsilons(0), self._epsilons(1)))
        epsilon = np.where(in_its_own & (held > 0), held, np.maximum(working, held))
        coarse = epsilon > _SINGLE
        unit = np.where(coarse, ROUNDED / SUMMED * epsilon + _SINGLE, epsilon)
        self.epsilon: list[float] = epsilon.tolist()
        self.working = working
        self.unit: list[float] = unit.tolist()
        noise = SUMMED * unit * norm + underflow(self.comparison.spacing, np.asarray(self.size))
        self.noise: list[float] = noise.tolist()

    def _epsilons(self, side: Literal[0, 1]) -> Floats:
        forms = [machine_epsilon(form.dtype or "") for form in self.comparison.forms.listed()]
        of_form = np.array([np.nan if one is None else one for one in forms])
        pairs = self.comparison.pairs
        of_value = np.append(of_form[self.comparison.columns[side].forms], np.nan)
        return np.asarray(of_value[(pairs.problem, pairs.benchmark)[side]])

    def _set_extremes(
        self, extremes: Floats, norm: Floats, mean: Floats, masked: NDArray[np.bool_]
    ) -> None:
        finite = np.isfinite(extremes)
        every = finite.all(axis=0)
        with np.errstate(invalid="ignore"):
            positive, negative = every & (extremes > 0).all(axis=0), every & (extremes < 0).all(0)
            largest = np.where(finite, np.abs(extremes), 0.0).max(axis=0, initial=0.0)
            least = np.where(positive, extremes.min(0), np.where(negative, -extremes.max(0), 0.0))
        self.peak: list[float] = largest.tolist()
        self.largest: list[float] = np.where(masked, norm, largest).tolist()
        self.smallest: list[float] = np.nan_to_num(least).tolist()
        self.mean: list[float] = np.where(masked, 0.0, mean).tolist()


def _lost(side: Statistics) -> Bools:
    """Which values hold NaN."""
    return np.asarray(np.isnan(side.table[:2]).any(axis=0) & side.nonfinite)
