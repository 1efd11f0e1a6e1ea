"""Brings the rows of inductor's graphs into the order in which calls ran.

Inductor runs what it has compiled in an order of its own, so a row tells its event alone. The rows
of one run of a graph belong together; begin and end of calls come from the plan. A value without a
row never was in memory: a pass has fused it away, and that is said in its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from msprobe_core.torch.graph.late_plans import LATE_SITES, Event, Plan
from msprobe_core.torch.graph.log import Row


@dataclass(slots=True, eq=False)
class _Run:
    """One run of a graph: its rows by event, and the modules that ran by the plan's owners."""

    plan: Plan
    is_backward: bool
    rows: dict[int, Row] = field(default_factory=dict)
    owners: dict[int, int] = field(default_factory=dict)


class LateRuns:
    """The runs of a step. A backward run belongs to the last forward run of its graph that has
    none: backward passes run against the order of the forward ones.
    """

    def __init__(self) -> None:
        self._waiting: dict[Plan, list[_Run]] = {}

    def in_order(self, rows: Iterable[Row]) -> Iterator[Row]:
        """All rows, those of each run in the order of its events."""
        run: _Run | None = None
        for row in rows:
            if row.note.late < 0:
                yield from self._ended(run)
                run = None
                yield row
                continue
            if run is None or not _takes(run, row):
                yield from self._ended(run)
                site = LATE_SITES[row.note.late]
                run = _Run(site.plan, row.note.kind == "gradient")
            _add(run, row)
        yield from self._ended(run)

    def _ended(self, run: _Run | None) -> Iterator[Row]:
        if run is None:
            return
        owners = run.owners
        if run.is_backward:
            before = self._waiting.get(run.plan)
            if not before:
                return  # its forward run was not recorded
            owners = before.pop().owners
        else:
            self._waiting.setdefault(run.plan, []).append(run)
        for at, event in enumerate(run.plan.events):
            if (event.note.kind == "gradient") == run.is_backward:
                yield from _rows_of(event, owners, run.rows.get(at))


def _takes(run: _Run, row: Row) -> bool:
    """Whether a row belongs to a run that has begun."""
    site = LATE_SITES[row.note.late]
    if site.plan is not run.plan or (row.note.kind == "gradient") != run.is_backward:
        return False
    return site.owner not in run.owners if site.event < 0 else site.event not in run.rows


def _add(run: _Run, row: Row) -> None:
    site = LATE_SITES[row.note.late]
    if site.event < 0:
        run.owners[site.owner] = row.owner
    else:
        run.rows[site.event] = row


def _rows_of(event: Event, owners: dict[int, int], row: Row | None) -> Iterator[Row]:
    owner = event.site if event.owner < 0 else owners.get(event.owner)
    if owner is None:
        return
    if event.note.kind in ("begin", "end"):
        yield Row(owner, event.note)
    elif row is not None:
        yield replace(row, owner=owner)
    else:
        yield Row(owner, event.note, fused=True)
