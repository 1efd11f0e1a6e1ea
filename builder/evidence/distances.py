"""How far apart the two sides of each row are, and what rounding alone leaves of a value."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from builder.compare.comparison import Comparison, Setting
from builder.compare.infinite_marks import marks_apart
from builder.compare.mask_constants import hold_masks
from builder.compare.rounding import ROUNDED, underflow
from builder.compare.statistics import Bools, Floats, Statistics
from builder.evidence.paired_rows import PairedRows
from builder.match.tree import TreeNode
from msprobe_core.format import machine_epsilon

# Sums are carried in float32 at least; in another order they leave a few roundings of that.
SUMMED = 4.0
CARRIED = SUMMED * 2.0**-23
# A distance that a sketch estimates lies hardly ever further from the true one than this factor.
ESTIMATED = 2.0
# Projections of a sketch are stored in float32: a distance that they tell may be off by so much.
_RESOLUTION = 2.0**-21
_SINGLE = 2.0**-23


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known of the distance between the two sides of each row, as columns over the rows.

    `distance` is measured, estimated, or guessed from the statistics where no element was seen;
    infinite for NaN and infinities on one side. `norm` is that of the larger side without masks,
    `share` = distance / norm, `noise` the distance that one rounding leaves, `unit` the rounding
    that one term of a sum brings in, `epsilon` that of the format. Of one row are `largest` and
    `smallest` magnitude, `peak` (masks included), `mean` and `size`. A row is `hidden` where masks
    or infinities hide the rest and no sketch leaves them out, `partial` where a sketch leaves
    elements out, `seen` by elements, `measured` by all of them, and `known` to have an error.
    `differing` are the nodes, by execution order, with a tensor that is apart; `working` is the
    epsilon of the coarser of the formats that the runs compute in.
    """

    paired: PairedRows
    distance: list[float]
    norm: list[float]
    share: list[float]
    noise: list[float]
    unit: list[float]
    epsilon: list[float]
    size: list[float]
    largest: list[float]
    smallest: list[float]
    peak: list[float]
    mean: list[float]
    seen: list[bool]
    measured: list[bool]
    hidden: list[bool]
    partial: list[bool]
    known: list[bool]
    differing: set[int]
    working: float

    def inputs(self, node: TreeNode) -> list[int]:
        """The rows of tensors that an entry lists as read, parameters among them."""
        is_output, are_tensors = self.paired.is_output, self.paired.are_tensors
        return [r for r in self.paired.rows(node) if not is_output[r] and are_tensors[r]]

    def outputs(self, node: TreeNode) -> list[int]:
        """The rows of tensors that an entry puts out."""
        is_output, are_tensors = self.paired.is_output, self.paired.are_tensors
        return [r for r in self.paired.rows(node) if is_output[r] and are_tensors[r]]

    def parameters(self, node: TreeNode) -> list[int]:
        """The rows of a module's own parameters."""
        keys = self.paired.comparison.keys
        return [r for r in self.inputs(node) if keys[r].startswith("parameters.")]

    def tensor_rows(self, node: TreeNode) -> list[int]:
        """The rows of all tensors of an entry that both sides have."""
        return [r for r in self.paired.rows(node) if self.paired.are_tensors[r]]

    def reach(self, row: int) -> float:
        """How far apart the operand of a row may be: an estimate errs, a measurement does not."""
        factor = 1.0 if self.measured[row] else ESTIMATED
        return factor * self.distance[row] + self.uncertain(row)

    def uncertain(self, row: int) -> float:
        """How much larger a distance may be than what is known of it."""
        if self.measured[row] or (self.distance[row] == 0 and not self.seen[row]):
            return 0.0
        return (_RESOLUTION if self.seen[row] else self.epsilon[row]) * self.norm[row]

    def most(self, rows: list[int]) -> float:
        """The largest share by which one of some rows is apart."""
        return max((self.share[r] for r in rows if not self.hidden[r]), default=0.0)

    def together(self, rows: list[int]) -> float:
        """The share by which a value is apart that is computed from some rows to first order."""
        return sqrt(sum(self.share[r] ** 2 for r in rows if self.norm[r]))

    def is_rounded(self, row: int) -> bool:
        """Whether one rounding explains how far apart a row is; integers know none."""
        if self.paired.is_integer(row):
            return self.distance[row] == 0
        return self.distance[row] <= self.noise[row]


def evidence_of(paired: PairedRows) -> Evidence:
    """All that a comparison tells of distances."""
    comparison = paired.comparison
    ours, theirs = comparison.statistics
    seen, measured = _seen(comparison)
    with np.errstate(all="ignore"):
        larger = np.fmax(np.abs(ours.table), np.abs(theirs.table))
        masked = hold_masks(ours.table[:2]) | hold_masks(theirs.table[:2])
        lost = _lost(ours) & theirs.nonfinite | _lost(theirs) & ours.nonfinite
        norm = np.nan_to_num(_norms(comparison, larger, masked), posinf=0.0)
        distance = np.where(lost, 0.0, _distances(paired, norm, seen))
        marks = marks_apart(comparison.records, comparison.statistics)
        if marks is not None:
            norm = np.fmax(norm, marks[1])  # their distance is among those of the comparison
        share = np.where(distance == 0, 0.0, np.where(norm > 0, distance / norm, inf))
        extremes = np.concatenate((ours.table[:2], theirs.table[:2]))
    epsilon, unit = _rounding(comparison)
    peak, smallest = _extremes(extremes)
    noise = SUMMED * unit * norm + underflow(comparison.distances.spacing, theirs.size)
    tensors = np.array(paired.are_tensors, dtype=bool)
    return Evidence(
        paired=paired,
        distance=distance.tolist(),
        norm=norm.tolist(),
        share=share.tolist(),
        noise=noise.tolist(),
        unit=unit.tolist(),
        epsilon=epsilon.tolist(),
        size=theirs.size.tolist(),
        largest=np.where(masked, norm, peak).tolist(),
        smallest=smallest.tolist(),
        peak=peak.tolist(),
        mean=np.where(masked, 0.0, np.nan_to_num(larger[2], posinf=0.0)).tolist(),
        seen=seen.tolist(),
        measured=measured.tolist(),
        # NaN beside infinity or NaN: a sketch leaves other elements out on either side.
        hidden=((masked & ~seen) | lost).tolist(),
        partial=(masked | ours.nonfinite | theirs.nonfinite).tolist(),
        known=(~np.isnan(comparison.scores.error)).tolist(),
        differing=set(comparison.pairs.node[(distance > 0) & tensors].tolist()),
        working=_working(comparison.setting),
    )


def _seen(comparison: Comparison) -> tuple[Bools, Bools]:
    measured = np.zeros(len(comparison.scores.error), dtype=bool)
    measured[list(comparison.elements.tensors)] = True
    if comparison.elements.estimates is None:
        return measured.copy(), measured
    return measured | np.isfinite(comparison.elements.estimates.distance), measured


def _norms(comparison: Comparison, larger: Floats, masked: Bools) -> Floats:
    """The norm of the larger side: of what the sketches cover where the other counts masks."""
    norm = np.where(np.isfinite(larger[3]), larger[3], np.nan)
    peak = np.fmax(larger[0], larger[1])
    size = comparison.statistics[1].size
    # Integers have no norm recorded.
    norm = np.where(np.isnan(norm) & np.isfinite(peak) & ~masked, peak * np.sqrt(size), norm)
    if comparison.elements.estimates is None:
        return norm
    pairs = comparison.pairs
    sides = zip(comparison.columns, (pairs.problem, pairs.benchmark))
    covered = [np.sqrt(np.mean(own.take_sketches(at) ** 2, axis=1)) for own, at in sides]
    return np.asarray(np.where(masked | np.isnan(norm), np.fmax(*covered), norm))


def _distances(paired: PairedRows, norm: Floats, seen: Bools) -> Floats:
    comparison = paired.comparison
    known = ~np.isnan(comparison.scores.error)
    distance = np.nan_to_num(comparison.distances.distance, nan=0.0, posinf=inf)
    ours, theirs = comparison.statistics
    # Statistics alone give a least distance, that of one number exactly; the share by which
    # they differ is a guess of it, of at most both norms (the triangle's inequality).
    guess = np.fmin(comparison.scores.judged * norm, ours.table[3] + theirs.table[3])
    guess = np.where(np.maximum(ours.size, theirs.size) > 1, np.nan_to_num(guess, posinf=0.0), 0)
    distance = np.where(seen, distance, np.fmax(distance, guess))
    one_sided = (ours.nonfinite != theirs.nonfinite) | ~np.isfinite(comparison.distances.distance)
    distance[np.isinf(comparison.scores.judged) & one_sided] = inf
    distance[~known] = 0.0
    shapes = zip(paired.ours, paired.theirs)
    reshaped = np.array([one.shape != other.shape for one, other in shapes], dtype=bool)
    both = np.array(paired.are_tensors, dtype=bool)
    return np.asarray(np.where(reshaped & both & known, norm, distance))


def _rounding(comparison: Comparison) -> tuple[Floats, Floats]:
    """By row the epsilon of its format, and the rounding that one term of a sum brings in.

    Where both runs compute in one format, a value is rounded in its own; else in theirs. A compiler
    that keeps digits leaves out roundings of theirs that eager values have.
    """
    ours, theirs = comparison.setting.precision
    matching = comparison.matching
    keeps = matching.problem.dump.keeps_digits or matching.benchmark.dump.keeps_digits
    in_its_own = ours == theirs and not keeps
    held = np.nan_to_num(np.fmin(epsilons(comparison, 0), epsilons(comparison, 1)))
    epsilon = np.where(
        in_its_own & (held > 0), held, np.maximum(_working(comparison.setting), held)
    )
    coarse = epsilon > _SINGLE
    return epsilon, np.where(coarse, ROUNDED / SUMMED * epsilon + _SINGLE, epsilon)


def _working(setting: Setting) -> float:
    return max(machine_epsilon(dtype) or 0.0 for dtype in setting.precision)


def epsilons(comparison: Comparison, side: Literal[0, 1]) -> Floats:
    """By row the epsilon of the format that one side has; NaN of other values than floats."""
    forms = [machine_epsilon(form.dtype or "") for form in comparison.forms.listed()]
    of_form = np.array([np.nan if one is None else one for one in forms])
    of_value = np.append(of_form[comparison.columns[side].forms], np.nan)
    return np.asarray(of_value[(comparison.pairs.problem, comparison.pairs.benchmark)[side]])


def _extremes(extremes: NDArray[np.float64]) -> tuple[Floats, Floats]:
    """By row the largest magnitude, and the smallest where no element can be nearer to zero."""
    finite = np.isfinite(extremes)
    every = finite.all(axis=0)
    with np.errstate(invalid="ignore"):
        positive, negative = every & (extremes > 0).all(axis=0), every & (extremes < 0).all(0)
        largest = np.where(finite, np.abs(extremes), 0.0).max(axis=0, initial=0.0)
        least = np.where(positive, extremes.min(0), np.where(negative, -extremes.max(0), 0.0))
    return largest, np.nan_to_num(least)


def _lost(side: Statistics) -> Bools:
    """Which values hold NaN."""
    return np.asarray(np.isnan(side.table[:2]).any(axis=0) & side.nonfinite)
