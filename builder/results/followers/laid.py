"""To which cause, and to which of its places, the diagnosis itself lays each row.

Of several places of one cause it is the one that is in the row's own module.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from builder.results.followers.forward_twins import forward_pass, forward_twins, is_backward
from builder.results.followers.named_causes import CauseRows
from builder.results.followers.rows import MergedRows, deepest_first
from builder.results.followers.states import RowStates
from builder.results.node_words import NOTHING, Bools, Ints


def laid_rows(rows: MergedRows, causes: Sequence[CauseRows]) -> Ints:
    """By row the row that it is laid to: of the places of a cause the one that it belongs to.

    What is called in a module that one run alone calls is a part of that module's fault. Of the
    forward pass nothing is laid to a cause about gradients but the cause itself.
    """
    source = nearest_places(rows, _sources(rows), causes)
    alone = (rows.ours < 0) | (rows.theirs < 0)
    for row in (row for cause in causes for row in cause.rows.tolist() if alone[row]):
        inside = np.arange(row + 1, rows.last[row] + 1)
        source[inside[source[inside] == NOTHING]] = row
    of_gradients = [one.rows for one in causes if one.of_gradients]
    if of_gradients:
        named = np.concatenate(of_gradients)
        wrong = np.isin(source, named) & forward_pass(rows)
        wrong[named] = False
        source = np.where(wrong, NOTHING, source)
    return source


def _sources(rows: MergedRows) -> Ints:
    source = np.full(len(rows), NOTHING, dtype=np.int64)
    side = rows.problem
    if len(side):
        ids = np.where(rows.ours >= 0, side.source[np.maximum(rows.ours, 0)], NOTHING)
        known = np.flatnonzero(ids >= 0)
        source[known] = rows.rows_of(ids[known])
    return source


def known_causes(states: RowStates, laid: Ints, handing_on: Bools) -> Ints:
    """By row the cause that is known without any way: of what is laid to one, and of causes.

    Causes that are `handing_on` a difference of others are none of their own row.
    """
    cause = np.where((laid != NOTHING) & states.cause[np.maximum(laid, 0)], laid, NOTHING)
    named = np.flatnonzero(states.cause)
    cause[named] = named
    cause[handing_on] = NOTHING
    return cause


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
    back = is_backward(rows)[laid]
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
    back = is_backward(rows)
    forward, backward = forward_twins(rows, ~back, back)
    at[backward] = forward
    left = back.copy()
    left[backward] = False
    for level in reversed(deepest_first(rows.parent)):
        lost = level[left[level]]
        above = rows.parent[lost]
        at[lost] = np.where(above > 0, at[above], lost)
    return at
