"""Findings about the ranks of two runs of one layout, which are compared rank by rank.

They are asked for where a pair has findings: runs whose ranks agree one by one agree in this, too.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from builder.dump.reader import read_parallel
from builder.dump.sources import Source, SourceSet
from builder.errors import BuilderError
from builder.match.tree import runs_behind_gradients
from builder.ranks.checks.lone_conflicts import LoneConflict, lone_conflicts
from builder.reasons import RanksConflict, Reason, same_of
from builder.run.one_fault import StoredConflict
from builder.work.outcome import PairOutcome, StoredFinding
from builder.work.plan import PairPlan
from builder.write.result_writer import Database

_AFTER = 2  # the part of a step behind its backward pass, as `TreeNode.in_step` numbers parts
Place = tuple[int, int]  # a step and a rank
_NODE = "SELECT id, exec_order, direction, parent IS NULL OR depth = 1 FROM node"


def rank_conflicts(
    pairs: Sequence[PairPlan], outcomes: Sequence[PairOutcome], database: Database
) -> list[StoredConflict]:
    """What the problem's ranks contradict each other in, up to the first step that has findings.

    Nothing where ranks were merged, where one run has a single rank, and where no dump tells how
    the ranks lie. A layout that does not fit, or a dump that is broken, is told elsewhere.
    """
    last = min((outcome.step for outcome in outcomes if outcome.findings), default=None)
    asked = [pair for pair in pairs if last is not None and last - 1 <= pair.step <= last]
    try:
        sides = _sides(asked)
        found = [] if sides is None else lone_conflicts(*sides)
    except BuilderError:
        return []
    at = {(outcome.step, outcome.rank): outcome for outcome in outcomes if outcome.graphs}
    with database.transaction() as connection:
        stored = [(each, _stored(each, at, connection)) for each in found]
    return [StoredConflict(each, finding) for each, finding in stored if finding is not None]


def _sides(pairs: Sequence[PairPlan]) -> tuple[SourceSet, SourceSet] | None:
    """Both sides of pairs as dumps of several ranks each; None for all else."""
    if not pairs or any(pair.is_merged or pair.benchmark is None for pair in pairs):
        return None
    ours = _as_dump({(pair.step, pair.rank): pair.problem for pair in pairs})
    theirs = _as_dump({(p.step, p.rank): p.benchmark for p in pairs if p.benchmark is not None})
    return None if ours is None or theirs is None else (ours, theirs)


def _as_dump(folders: Mapping[Place, Path]) -> SourceSet | None:
    if len({rank for _, rank in folders}) < 2:
        return None
    first = read_parallel(next(iter(folders.values())))
    if first is None or not any(axis.size > 1 for axis in first.axes.values()):
        return None
    sources = tuple(Source(step, rank, path) for (step, rank), path in sorted(folders.items()))
    return SourceSet(sources[0].path.parent, "root", sources)


def _stored(
    conflict: LoneConflict, at: Mapping[Place, PairOutcome], connection: sqlite3.Connection
) -> StoredFinding | None:
    """A conflict at the first node that shows it, on a guilty rank where one has such a node."""
    step, ranks = conflict.found.step, _off(conflict, at)
    for rank in sorted(conflict.names, key=lambda rank: (rank not in ranks, rank)):
        outcome = at.get((step, rank))
        if outcome is None:
            continue
        for name in conflict.names[rank]:
            node = _node(connection, outcome.graphs[0], name)
            if node is not None:
                finding = _finding(conflict, outcome, name, node)
                return replace(finding, reasons=_reasons(conflict, ranks))
    return None


def _off(conflict: LoneConflict, at: Mapping[Place, PairOutcome]) -> tuple[int, ...]:
    """The ranks that are off: of a parameter those that hold another than the benchmark's do.

    Each rank's was compared with it. All that ranks alone tell where none or all of them do.
    """
    found = conflict.found
    own = ((rank, at.get((found.step, rank))) for rank in found.ranks)
    apart = tuple(
        rank
        for rank, outcome in own
        if outcome is not None
        and any(conflict.is_shown_by(one.kind, one.name, rank) for one in outcome.findings)
    )
    return apart or found.ranks


def _node(connection: sqlite3.Connection, graph: int, name: str) -> tuple[int, int, int] | None:
    """The id of a node, the part of the step that it runs in, and its place; None without one."""
    asked = f"{_NODE} WHERE graph = ? AND name = ?"
    row = connection.execute(asked, (graph, name)).fetchone()
    if row is None:
        return None
    node, order, direction, is_outermost = row
    if direction == "backward":
        return node, 1, order
    first = "SELECT MIN(exec_order) FROM node WHERE graph = ? AND direction = 'backward'"
    (begins,) = connection.execute(first, (graph,)).fetchone()
    is_after = is_outermost and begins is not None and order > begins
    return node, _AFTER if is_after else 0, order


def _finding(
    conflict: LoneConflict, outcome: PairOutcome, name: str, node: tuple[int, int, int]
) -> StoredFinding:
    number, part, order = node
    key = _first_behind(outcome.findings) if conflict.late else (part, order)
    return StoredFinding(
        step=outcome.step,
        rank=outcome.rank,
        graph=outcome.graphs[0],
        node=number,
        name=name,
        kind="communication",
        is_api=False,
        sort_key=key,
        score=1.0,
        input_score=None,
        introduced=1.0,
        reasons=[],
        propagated_to=0,
        stands_alone=conflict.is_unreduced,
    )


def _first_behind(findings: Sequence[StoredFinding]) -> tuple[int, int]:
    """The place in front of all findings behind the backward pass: what it reads is unlike."""
    behind = [f.sort_key for f in findings if runs_behind_gradients(f.sort_key)]
    return (min(behind)[0] if behind else _AFTER, -1)


def _reasons(conflict: LoneConflict, ranks: Sequence[int]) -> list[Reason]:
    found = conflict.found
    where = dict(zip(found.ranks, found.coordinates.split("; "), strict=False))
    told = "; ".join(where[rank] for rank in ranks if rank in where)
    said = RanksConflict(found.text, found.axis, ", ".join(map(str, ranks)), told)
    return [said, *same_of(list(conflict.more))]
