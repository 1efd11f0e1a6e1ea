"""To which of several places of one cause a row goes back: the one that is in its own module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from builder.results.node_words import DIRECTIONS, NOTHING, Bools, Ints
from tb_graph_ascend.view.diff.merge import MergedRows, deepest_first
from tb_graph_ascend.view.diff.twins import forward_twins


@dataclass(frozen=True, slots=True)
class CauseRows:
    """The rows at which one cause is, sorted; what it changes."""

    rows: Ints
    of_gradients: bool = False
    of_weights: bool = False


def nearest_places(rows: MergedRows, source: Ints, causes: Sequence[CauseRows]) -> Ints:
    """By row the row that it is laid to, of several places of a cause the nearest one."""
    several = [cause for cause in causes if len(cause.rows) > 1]
    if not several:
        return source
    at = _forward_places(rows)
    found = np.array(source)
    for cause in several:
        laid = np.flatnonzero(
            np.isin(source, cause.rows) & ~np.isin(np.arange(len(rows)), cause.rows)
        )
        found[laid] = _nearest(rows, cause, laid, at[laid], source[laid])
    return found


def _nearest(rows: MergedRows, cause: CauseRows, laid: Ints, at: Ints, told: Ints) -> Ints:
    """Of the places in the innermost module around a row that has any, the last one before it.

    What is about gradients comes, in the backward pass, from the first one behind. Where no module
    has both, what the diagnosis told stands, if it runs before.
    """
    places = cause.rows
    around = _around(rows, places)[at]
    first = np.searchsorted(places, around)
    last = np.searchsorted(places, rows.last[around], side="right") - 1
    back = _is_backward(rows)[laid]
    before = np.searchsorted(places, at, side="right") - 1
    behind = np.searchsorted(places, at)
    from_behind = back & cause.of_gradients
    chosen = places[np.clip(np.where(from_behind, behind, before), first, last)]
    stays = (rows.parent[around] == NOTHING) & (told < at) & ~from_behind
    return np.asarray(np.where(stays, told, chosen))


def _around(rows: MergedRows, places: Ints) -> Ints:
    """By row the innermost row, itself or above it, that has a place at or below it."""
    holds = np.zeros(len(rows), dtype=np.int64)
    holds[places] = 1
    has = (rows.below(holds) + holds) > 0
    has[0] = True
    around = np.where(has, np.arange(len(rows)), NOTHING)
    for level in reversed(deepest_first(rows.parent)):
        around[level] = np.where(has[level], level, around[rows.parent[level]])
    return around


def _forward_places(rows: MergedRows) -> Ints:
    """By row the forward row that it belongs to: of a gradient that of its call, or what is around.

    All others stand where they are.
    """
    at = np.arange(len(rows))
    back = _is_backward(rows)
    forward, backward = forward_twins(rows, ~back, back)
    at[backward] = forward
    left = back.copy()
    left[backward] = False
    for level in reversed(deepest_first(rows.parent)):
        lost = level[left[level]]
        above = rows.parent[lost]
        at[lost] = np.where(above > 0, at[above], lost)
    return at


def _is_backward(rows: MergedRows) -> Bools:
    ours = rows.ours >= 0
    if not len(rows.problem):
        return ours
    passes = rows.problem.direction[np.maximum(rows.ours, 0)]
    return np.asarray(ours & (passes == DIRECTIONS.index("backward")))
