"""What targets of two runs are judged by, step by step: how far each leaves its own noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from builder.series.crossings import shares_of_usual
from builder.series.expert_shifts import shifts_of_experts
from builder.series.limits import Limits
from builder.series.moves import moves_of
from builder.series.octaves import octaves_apart
from builder.series.rerouted import Rerouted
from builder.series.run import Key
from builder.series.sliding import sliding

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

WINDOW, HOLD, SETTLE = 64, 4, 16
"""Steps that make the band, that have to leave it, and that come before any is judged."""
FLOOR = -21.0
"""log2 of the least delta: a norm of float32 has 23 bits, and its root and sums lose some. Two that
were the same for a while and then differ in the last of them have not moved."""
_SETTLED = -4.0
"""Noise of 2^-4 octaves (4 %) grows no more: two such trainings are as unlike as they become."""
_NEVER = -1000.0
_UPDATED = frozenset({"param", "ratio"})


@dataclass(frozen=True, slots=True)
class Excess:
    """[step][target]: by how much each rule's measure is beyond noise, in log2; -inf where a rule
    has nothing to say. The fields are those of `Limits`.
    """

    rise: Floats
    leap: Floats
    settled: Floats
    staying: Floats
    with_update: Floats
    jump: Floats
    """log2 of the octaves by which what an update makes has moved apart in one step: where updates
    are all of one size, as by their signs, rounding decides for a single element which way it goes.
    """

    def beyond(self, limits: Limits) -> Mask:
        """Where any is larger than its limit, and the jump of what an update makes too."""
        found: Mask = (self.rise > limits.rise) | (self.leap > limits.leap)
        found |= (self.settled > limits.settled) | (self.staying > limits.staying)
        found |= self.with_update > limits.with_update
        found &= (limits.jump == -np.inf) | (self.jump > limits.jump)
        return found


@dataclass(frozen=True, slots=True)
class Judged:
    """[step][target]: which targets part, what was expected of log2 of delta, delta, by how much
    they are beyond noise, and which of them can be judged.
    """

    left: Mask
    expected: Floats
    delta: Floats
    excess: Excess
    free: Mask


@dataclass(frozen=True, slots=True)
class Rules:
    """What targets are judged by, each [target]."""

    keys: Sequence[Key]
    limits: Limits
    weights: NDArray[np.intp]
    """The targets by which a step reaches the next one."""
    few: NDArray[np.intp]
    """Those that pass through zero."""

    updated: NDArray[np.intp]
    """Those that an update makes: weights, and its own size."""

    @classmethod
    def of(
        cls, keys: Sequence[Key], few: NDArray[np.intp] | None = None, limits: Limits | None = None
    ) -> Rules:
        """Those of targets, with limits of a twin or else the constant ones."""
        weights = np.flatnonzero([kind == "param" for kind, _ in keys])
        return cls(
            keys,
            limits or Limits.of(keys),
            weights if len(weights) else np.arange(len(keys)),
            np.zeros(0, np.intp) if few is None else few,
            np.flatnonzero([kind in _UPDATED for kind, _ in keys]),
        )

    def judge(self, a: Floats, b: Floats, other: Rerouted | None, kinks: Floats | None) -> Judged:
        """Judge steps that follow each other; the first of them may lack what lies behind them.

        A target counts as far as it leaves its band farther than what comes before it in the step,
        and than the weights did in the step before.
        """
        other = other or Rerouted.nowhere(*a.shape)
        shares = shares_of_usual(a, b, self.few)
        delta = octaves_apart(a, b) * shares
        y = np.log2(np.maximum(delta, 2.0**FLOOR))
        usual = _bands(np.where(other.aside, FLOOR, y))
        above = y - usual
        expected = usual + self._before(above)
        # Where noise has settled, tokens that change places are part of it.
        sure = self._before(np.where(other.aside | other.unsure, _NEVER, above))
        moves = moves_of(self.keys, np.where(other.aside, np.nan, a), b, shares)
        excess = Excess(
            _held(y, other.aside) - expected,
            np.where(other.unsure, -np.inf, y - expected),
            np.where((usual >= _SETTLED) & ~other.unsure, y - usual - sure, -np.inf),
            moves.staying,
            moves.with_update,
            self._jumps(delta),
        )
        free: Mask = ~(other.aside | other.kept)
        if kinks is not None:
            free &= delta > kinks
        left = excess.beyond(self.limits) & free
        shifted, limits = shifts_of_experts(other.apart, other.aside, sure)
        expected = np.where(shifted, limits - self.limits.rise, expected)
        delta = np.where(shifted, np.abs(other.apart), delta)
        return Judged(left | shifted, expected, delta, excess, free)

    def _jumps(self, delta: Floats) -> Floats:
        jumps = np.full_like(delta, -np.inf)
        grown = np.diff(delta[:, self.updated], axis=0)
        with np.errstate(all="ignore"):
            jumps[1:, self.updated] = np.where(grown > 0, np.log2(grown), -np.inf)
        return jumps

    def _before(self, above: Floats) -> Floats:
        """By how much what a step makes before each target left its band, and the weights before
        the step theirs.
        """
        carried = np.zeros((len(above), 1))
        carried[SETTLE + 1 :, 0] = np.maximum(0, above[SETTLE:-1, self.weights].max(1))
        before: Floats = np.maximum.accumulate(np.concatenate([carried, above[:, :-1]], 1), axis=1)
        return before


def _held(y: Floats, aside: Mask) -> Floats:
    """The least of HOLD steps from each one on that can be compared; -inf where there are fewer."""
    held = np.full(y.shape, -np.inf)
    least = sliding(np.minimum, y, HOLD)
    held[: len(least)] = least
    for column in np.flatnonzero(aside.any(0)):
        known = np.flatnonzero(~aside[:, column])
        least = sliding(np.minimum, y[known, column], HOLD)
        held[:, column] = -np.inf
        held[known[: len(least)], column] = least
    return held


def _bands(past: Floats) -> Floats:
    """For each step the largest of the WINDOW before it, and as much more as these grow in HOLD
    steps.
    """
    at = np.arange(len(past))[:, None]
    count = np.minimum(at, WINDOW)
    nothing = np.zeros((1, past.shape[1]))
    total, weighted = (
        np.concatenate([nothing, np.cumsum(each, axis=0)]) for each in (past, at * past)
    )
    begin = (at - count)[:, 0]
    total, weighted = (each[:-1] - each[begin] for each in (total, weighted))
    # The least squares of places r-n to r-1, whose mean is r-(n+1)/2 and whose squares add up so.
    slope = weighted - (at - (count + 1) / 2) * total
    slope /= np.maximum(count * (count**2 - 1.0) / 12, 1)
    before = np.concatenate([np.full((WINDOW, past.shape[1]), FLOOR), past[:-1]])
    bands: Floats = sliding(np.maximum, before, WINDOW) + np.maximum(slope, 0) * HOLD
    return bands
