"""What went through a join of one thing alone: a list that grows begins so."""

from __future__ import annotations

from builder.flow.feeding import Flow, Ints
from builder.flow.passage_edges import Reading
from builder.flow.silent_runs import SilentRuns


def lead_through_single_joins(flow: Flow, begins: Ints, silent: SilentRuns) -> None:
    """Lead known flow through a join that ran alone between its two ends and that nobody claims."""
    calls = silent.calls
    cells = (flow.value, flow.consumer, flow.producer)
    edges = list(zip(*(each.tolist() for each in cells), strict=True))
    known = {(producer, consumer) for _, consumer, producer in edges}
    for value, consumer, producer in edges:
        run = calls.run_after(producer, len(calls.order))
        if len(run) != 1 or not silent.works(run[0], "join"):
            continue
        # What a module was given, the calls in it read behind others.
        starts = {int(begins[at]) for at in _around(flow, known, producer, consumer)}
        behind = any(calls.before(start) == run[0] + 1 for start in starts)
        if behind and silent.claim(run, ("one", producer)):
            silent.lead([producer], run, Reading(consumer, value), False, instead=producer)


def _around(flow: Flow, known: set[tuple[int, int]], producer: int, consumer: int) -> list[int]:
    """A call and the modules around it that read the same, by their execution order."""
    found = [consumer]
    above = flow.tree.in_order[consumer].parent
    while above is not None and (producer, above.exec_order) in known:
        found.append(above.exec_order)
        above = above.parent
    return found
