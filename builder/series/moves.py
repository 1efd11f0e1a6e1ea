"""What moves in one step as it never did, while what a step makes before it is calm.

Two trainings with other rounding drift apart, and a chaotic model does so in storms: in some steps
everything moves. How far apart two runs are (the level) is hidden by the largest storm so far; a
fault is told from a storm by the step itself. The move of a target is the change of log2(a/b) from
one step to the next, in units of its own median move of the last steps; that is divided by the
median of what came before it in the same step (forward, loss, backward, gradients, state, weights),
since a fault reaches only what comes behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from builder.series.medians import row_medians
from builder.series.run import Key
from builder.series.sliding import sliding

Floats = NDArray[np.float64]

WINDOW, LEAST_WINDOW, RENEWED = 64, 32, 8
"""Steps whose moves are a target's usual ones, fewer than which say nothing, and how many steps
pass until their median is made anew."""
STAYS, BEFORE = 4, 2
"""Steps that a value has to stay moved, and against how many before: what a storm throws out comes
back at once."""
_RESOLUTION = 2.0**-21
"""The least usual move: a norm of float32 has 23 bits, and its root and sums lose some."""
_LEAST_MOVE = 2.0**-5
"""Octaves (2 %). Where noise is so small that less is much, its level tells a fault; while it grows
up to there, moves are larger than those of the steps before, too."""
_HANDED_ON = 4.0
"""An optimizer hands on what a gradient moves by, divided among averages, and not more but where
these nearly cancel: an update that moves four times as far as its gradient has another cause."""
_FEWEST_BEFORE = 4
"""Targets of a step that are enough for a median; the first ones are held against the last step."""


@dataclass(frozen=True, slots=True)
class Moves:
    """[step][target]: log2 of the usual moves that one has moved by for good, and that a gradient
    has together with its update; -inf where that is less than counts.
    """

    staying: Floats
    with_update: Floats


def moves_of(keys: Sequence[Key], a: Floats, b: Floats, shares: Floats | None = None) -> Moves:
    """How far each target of [step][target] of two runs moved, beside what moved before it.

    `shares` are those of their usual size that values have, 1 where none are given.
    """
    with np.errstate(all="ignore"):
        ratio = (np.log2(np.abs(a)) - np.log2(np.abs(b))) * (1.0 if shares is None else shares)
    ratio[~np.isfinite(ratio)] = np.nan
    moves = np.full_like(ratio, np.nan)
    moves[1:] = np.abs(np.diff(ratio, axis=0))
    units = _usual(moves)
    units *= _storm(moves / units)
    away, staying = _away(ratio, 1), _away(ratio, STAYS)
    with np.errstate(all="ignore"):
        leaps, stays = np.log2(away / units), np.log2(staying / units)
    together = np.full_like(stays, -np.inf)
    place = {key: i for i, key in enumerate(keys)}
    for name, at in ((name, i) for (kind, name), i in place.items() if kind == "grad"):
        update = place.get(("ratio", name))
        if update is not None:
            explained = staying[:, update] <= _HANDED_ON * away[:, at]
            counts = explained & (away[:, at] >= _LEAST_MOVE)
            together[:, at] = np.where(counts, leaps[:, at] + stays[:, update], -np.inf)
    return Moves(_known(np.where(staying >= _LEAST_MOVE, stays, -np.inf)), _known(together))


def _known(values: Floats) -> Floats:
    return np.where(np.isnan(values), -np.inf, values)


def _usual(moves: Floats) -> Floats:
    """The median move of each target before each step; NaN where too little was measured."""
    usual = np.full_like(moves, np.nan)
    for start in range(LEAST_WINDOW + 1, len(moves), RENEWED):
        before = moves[max(1, start - WINDOW) : start]
        enough = (~np.isnan(before)).sum(0) >= max(LEAST_WINDOW, 0.9 * len(before))
        middle = row_medians(before.T)
        usual[start : start + RENEWED] = np.where(enough, np.maximum(middle, _RESOLUTION), np.nan)
    return usual


def _storm(units: Floats) -> Floats:
    """How much more than usual the targets before each one moved in its step, 1 at least.

    The median is that of the first 4, 8, 16, … targets, of which the last power of two that lies
    before a target counts.
    """
    storm = np.ones_like(units)
    storm[1:] = _medians(units[:-1])[:, None]
    size = _FEWEST_BEFORE
    while size < units.shape[1]:
        storm[:, size : 2 * size] = _medians(units[:, :size])[:, None]
        size *= 2
    result: Floats = np.maximum(storm, 1.0)
    return result


def _medians(rows: Floats) -> Floats:
    """The median of what is known of each row; 1 where nothing is."""
    medians = row_medians(rows)
    return np.where(np.isnan(medians), 1.0, medians)


def _away(ratio: Floats, count: int) -> Floats:
    """The least distance of so many steps from the two before them; 0 where they lie on both sides.

    Two, since behind a single value that was thrown out the next ones are moved against it.
    """
    found = np.zeros_like(ratio)
    steps = len(ratio) - BEFORE - count + 1
    if steps < 1:
        return found
    least, most = (
        (sliding(choose, ratio[:-count], BEFORE)[:steps], sliding(choose, ratio[BEFORE:], count))
        for choose in (np.minimum, np.maximum)
    )
    beyond = np.maximum(least[1] - most[0], least[0] - most[1])
    found[BEFORE : BEFORE + steps] = np.where(beyond > 0, beyond, 0.0)
    return found
