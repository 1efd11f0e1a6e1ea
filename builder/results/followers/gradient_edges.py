"""Which gradient was made of which: what reads a value returns its own to what made the value.

A graph can be gone back through several times, as for gradients of gradients: each pass makes
gradients of its own, and what one run alone goes back through stands among them.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from builder.results.followers.carry_edges import (
    PASSED,
    RETURNED,
    Edges,
    FlowEdges,
    edges,
    fed_rows,
    joined,
)
from builder.results.followers.forward_twins import forward_pass, forward_twins, is_backward
from builder.results.followers.rows import MergedRows
from builder.results.followers.states import RowStates
from builder.results.node_words import NOTHING, Bools, Ints

_OF_WEIGHTS, _BACKWARD = ".parameters_grad", ".backward"


def returned_edges(rows: MergedRows, flow: FlowEdges, carrying: Bools) -> Edges:
    """From the backward rows of what read a value to that of what made it, which gets its gradient.

    So it is where nothing that differs is recorded to feed a backward row. The gradients of a
    module's weights are what its own backward pass returns; where that one agrees, another call of
    the module returned what differs, and they are the sum.
    """
    forward, backward, (of, weight) = _gradients(rows)
    start, end = _returned(rows, flow, forward, backward)
    free = (start != end) & carrying[start] & carrying[end] & ~fed_rows(flow, carrying)[end]
    forward, backward = forward[carrying[backward]], backward[carrying[backward]]
    of, weight = of[carrying[weight]], weight[carrying[weight]]
    held = np.full(len(rows), NOTHING, dtype=np.int64)
    held[forward] = backward
    summed = _summed(rows, backward, weight[held[of] == NOTHING])
    parts = (
        edges(start[free], end[free], RETURNED),
        edges(held[of], weight, RETURNED),
        edges(*summed, RETURNED),
    )
    return joined(parts)


def accumulated_edges(rows: MergedRows, states: RowStates, unfed: Bools) -> Edges:
    """From gradients that differ to what reads something behind them that nothing put out, perhaps.

    Where no module holds its weights, autograd adds up what its passes return for them and nothing
    records the sum: an optimizer's first call reads it. It is laid to the last pass before.
    """
    back = is_backward(rows)
    differing = np.flatnonzero(back & (states.differing | states.alone))
    wanted = unfed & states.reading & ~states.cause  # of the problem's rows alone it is known
    end = np.flatnonzero(wanted & ~back & ~forward_pass(rows))
    at = np.searchsorted(differing, end) - 1
    return edges(differing[at[at >= 0]], end[at >= 0], PASSED, certain=False)


def wanted_edges(rows: MergedRows, read: Edges, named: Bools) -> Edges:
    """From calls named for a gradient that they want or not to what then gets one, or none.

    `read` leads to calls from who made what they read. The backward call in between agrees, where
    both runs have it: what it returns is used in one of them alone.
    """
    forward, backward, _ = _gradients(rows)
    of_cause = read.taken(named[read.end])
    at, gradient = _equal_pairs(of_cause.start, forward)
    return edges(of_cause.end[at], backward[gradient], RETURNED)


def _gradients(rows: MergedRows) -> tuple[Ints, Ints, tuple[Ints, Ints]]:
    """Forward rows and their gradients in all passes; apart those of their weights."""
    everywhere = np.ones(len(rows), dtype=bool)
    forward, backward = forward_twins(rows, everywhere, everywhere)
    of_weights = np.array([_OF_WEIGHTS in name for name in rows.names_of(backward)], dtype=bool)
    own = ~of_weights
    return forward[own], backward[own], (forward[of_weights], backward[of_weights])


def _summed(rows: MergedRows, returned: Ints, weights: Ints) -> tuple[Ints, Ints]:
    """From the backward rows of all calls of a module to some gradients of its weights."""
    calls = defaultdict(list)
    if len(weights):
        for name, row in zip(rows.names_of(returned), returned.tolist(), strict=True):
            calls[name.rpartition(_BACKWARD)[0]].append(row)
    found = [
        (row, weight)
        for name, weight in zip(rows.names_of(weights), weights.tolist(), strict=True)
        for row in calls.get(name.rpartition(_OF_WEIGHTS)[0], ())
    ]
    pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _returned(
    rows: MergedRows, flow: FlowEdges, forward: Ints, backward: Ints
) -> tuple[Ints, Ints]:
    """From gradients of what reads a value to those of what made it, in the same pass.

    `backward` holds the gradients of the calls `forward`. A pass goes back over all readers of a
    value before it comes to its maker: of a reader it is the last gradient before the maker's, and
    one behind the maker's gradient of the pass before. Each run has an order of its own.
    """
    parts = [_in_order(flow, forward, backward, order) for order in _orders(rows, backward)]
    start, end = (np.concatenate(column) for column in zip(*parts, strict=True))
    return start, end


def _equal_pairs(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """The places of all pairs of equal numbers, one of each list."""
    order = np.argsort(right, kind="stable")
    first, behind = (np.searchsorted(right[order], left, side) for side in ("left", "right"))
    counts = behind - first
    at = np.repeat(np.arange(len(left)), counts)
    nth = np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts)
    return at, order[first[at] + nth]


def _orders(rows: MergedRows, chosen: Ints) -> list[Ints]:
    """When some rows ran, in each of the runs; NOTHING where they did not."""
    found = []
    for side, places in ((rows.problem, rows.ours), (rows.benchmark, rows.theirs)):
        at, order = places[chosen], np.full(len(chosen), NOTHING, dtype=np.int64)
        order[at >= 0] = side.order[at[at >= 0]]
        found.append(order)
    return found


def _in_order(flow: FlowEdges, forward: Ints, backward: Ints, order: Ints) -> tuple[Ints, Ints]:
    by_call = np.lexsort((order, forward))
    by_call = by_call[order[by_call] >= 0]
    call, when, row = forward[by_call], order[by_call], backward[by_call]
    edge, made = _equal_pairs(flow.producer, call)
    reader = flow.consumer[edge]
    returned, known = _last_before(call, when, reader, when[made])
    known &= when[returned] > _pass_before(call, when)[made]
    return row[returned[known]], row[made[known]]


def _last_before(call: Ints, when: Ints, wanted: Ints, limit: Ints) -> tuple[Ints, Bools]:
    """The places of the last gradients of wanted calls before a time; whether there is one."""
    span = int(when.max(initial=0)) + 1
    place = np.searchsorted(call * span + when, wanted * span + limit) - 1
    known = place >= 0
    place = np.maximum(place, 0)
    return place, known & (call[place] == wanted)


def _pass_before(call: Ints, when: Ints) -> Ints:
    """When the gradient before of the same call ran; NOTHING for first ones."""
    before = np.full(len(call), NOTHING, dtype=np.int64)
    again = np.flatnonzero(call[1:] == call[:-1]) + 1
    before[again] = when[again - 1]
    return before
