"""What went through a join of one thing alone: a list that grows begins so."""

from __future__ import annotations

import numpy as np

from builder.flow.feeding import Flow
from builder.flow.passage_edges import Reading
from builder.flow.silent_calls import Calls
from builder.flow.silent_runs import SilentRuns


def lead_through_single_joins(flow: Flow, silent: SilentRuns) -> None:
    """Lead known flow through a join that ran alone between its two ends and that nobody claims."""
    calls = silent.calls
    places = np.searchsorted(calls.order, flow.producer, side="right")
    is_single = np.array([*_single_joins(calls), False])[places]
    if not is_single.any():
        return
    known = set(zip(flow.producer.tolist(), flow.consumer.tolist(), strict=True))
    cells = (flow.value, flow.consumer, flow.producer, places)
    for value, consumer, producer, place in zip(
        *(each[is_single].tolist() for each in cells), strict=True
    ):
        # What a module was given, the calls in it read behind others.
        starts = {int(flow.begins[at]) for at in _around(flow, known, producer, consumer)}
        behind = any(calls.before(start) == place + 1 for start in starts)
        if behind and silent.claim([place], ("one", producer)):
            silent.lead([producer], [place], Reading(consumer, value), False, instead=producer)


def _single_joins(calls: Calls) -> list[bool]:
    """By place, whether a silent call joins and the call behind it left values."""
    return [
        work == "join" and not behind
        for work, behind in zip(calls.works, [*calls.silent[1:], False])
    ]


def _around(flow: Flow, known: set[tuple[int, int]], producer: int, consumer: int) -> list[int]:
    """A call and the modules around it that read the same, by their execution order."""
    found = [consumer]
    above = flow.tree.in_order[consumer].parent
    while above is not None and (producer, above.exec_order) in known:
        found.append(above.exec_order)
        above = above.parent
    return found
