"""Sketches of a whole from those of its parts: they are linear, so what adds up adds up in them.

A part's sketch weighs each element by its place in the part, not in the whole: of parts that are
cut there is none. Where both runs are cut alike, the parts are held against each other instead.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from builder.ranks.joining.layouts import AxisLayout
from msprobe_core.format import PROJECTIONS

Floats = NDArray[np.float64]


def have_sketches(ours: Sequence[AxisLayout], theirs: Sequence[AxisLayout]) -> bool:
    """Whether the joined sketches of two sides are those of the wholes: nothing is cut."""
    return not _is_cut(ours) and not _is_cut(theirs)


def are_cut_alike(ours: Sequence[AxisLayout], theirs: Sequence[AxisLayout]) -> bool:
    """Whether both sides are cut into as many parts along the same dimensions, by whatever axes.

    What two ranks compute a process may compute as two micro-batches.
    """
    return _is_cut(ours) and _cuts(ours) == _cuts(theirs)


def join_sketches(table: Floats, axes: Sequence[AxisLayout]) -> Floats:
    """The sketches [instances, 8] of wholes from those of their parts [instances, parts, 8].

    Cut parts are added up under a random sign each, as a sketch adds up elements: its differences
    estimate the distance of wholes that are cut alike.
    """
    cut = 1  # how many cut parts of the axes so far lie side by side, innermost
    for axis in axes:
        table = table.reshape(table.shape[0], -1, axis.size, cut, PROJECTIONS)
        if axis.kind == "S":
            cut *= axis.size
        elif axis.kind == "R":
            table = table[:, :, 0]
        else:
            table = table.sum(2) / (axis.size if axis.kind == "A" else 1)
    table = table.reshape(table.shape[0], cut, PROJECTIONS)
    return np.asarray(table[:, 0] if cut == 1 else (table * _signs(cut)).sum(1))


def sketch_error(ours: Floats, theirs: Floats, parts: Floats, rounding: Floats) -> Floats:
    """The relative distance [instances] by two sketches; NaN where one is unknown.

    `parts` [instances] is the magnitude of what was joined, of which `rounding` [instances] makes
    a share: nothing nearer than that is a distance.
    """
    distance, norm = _norm(ours - theirs), _norm(theirs)
    with np.errstate(all="ignore"):
        error = distance / norm
    nearest = rounding * np.fmax(norm, parts)
    return np.asarray(np.where(distance <= nearest, 0.0, error))


def magnitude(table: Floats) -> Floats:
    """The root of the sum of squared norms [instances] of parts [instances, parts, 8]."""
    return np.asarray(np.sqrt(np.square(_norm(table)).sum(axis=1)))


def sketch_disagreement(table: Floats, axes: Sequence[AxisLayout], at: int) -> Floats:
    """How far the parts along one axis differ [instances] by their sketches; 0 where unknown."""
    inner = int(np.prod([axis.size for axis in axes[:at]], dtype=int))
    grid = table.reshape(table.shape[0], -1, axes[at].size, inner, PROJECTIONS)
    distance, norm = _norm(grid - grid[:, :, :1]), _norm(grid[:, :, :1])
    with np.errstate(all="ignore"):
        apart = np.where(distance == 0, 0.0, distance / norm)
    apart = np.nan_to_num(apart, nan=0.0, posinf=np.inf)
    return np.asarray(apart.reshape(table.shape[0], -1).max(axis=1))


def sketch_text(sketch: Floats) -> str | None:
    """A sketch as a record has it: little-endian float32 in hexadecimal digits; None for NaN."""
    return None if np.isnan(sketch).any() else sketch.astype("<f4").tobytes().hex()


def _norm(projections: Floats) -> Floats:
    return np.asarray(np.sqrt(np.mean(np.square(projections), axis=-1)))


def _is_cut(axes: Sequence[AxisLayout]) -> bool:
    return any(axis.kind == "S" for axis in axes)


def _cuts(axes: Sequence[AxisLayout]) -> list[tuple[int, int]]:
    """The dimensions that are cut, innermost first, each with into how many parts."""
    cuts: list[tuple[int, int]] = []
    for axis in axes:
        if axis.kind != "S":
            continue
        before = cuts.pop()[1] if cuts and cuts[-1][0] == axis.dim else 1
        cuts.append((axis.dim, before * axis.size))
    return cuts


def _signs(parts: int) -> Floats:
    drawn = np.random.default_rng(0).choice((-1.0, 1.0), size=(parts, PROJECTIONS))
    return np.asarray(drawn)
