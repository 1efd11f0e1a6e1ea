"""Takes back what is said of a single update that rounding in its gradient explains.

An optimizer that divides a gradient by its size, as Adam does, makes a step of nearly the same
length of each element, and so blows up the rounding of those that are nearly zero. Wrong settings
or a wrong kernel show in most parameters, or in a part of the step that can be seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isfinite

from builder.compare.sketches import estimate_pairs
from builder.diagnosis.facts import Facts
from builder.diagnosis.finding import Finding
from builder.dump.values import Record
from builder.match.tree import TreeNode

_AGREES = 0.05  # a score, far below the usual threshold
_FEW = 0.2  # of all updates
_OF_A_STEP = 2e-3  # what rounding in a few elements moves, as a part of the step's length


def lone_updates(facts: Facts, findings: Iterable[Finding]) -> Iterator[tuple[Finding, int]]:
    """Findings of updates that differ by a hair of their step, where most others agree.

    Each with the row of the value that the update left.
    """
    named = [f for f in findings if f.side == "problem" and f.node.is_update]
    updates = sum(node.is_update for node in facts.comparison.matching.problem.in_order)
    if len(named) > _FEW * updates:
        return
    for finding in named:
        written = _rounded(facts, finding.node) if finding.kind == "introduced" else None
        if written is not None:
            yield finding, written


def _rounded(facts: Facts, node: TreeNode) -> int | None:
    """The row of the value that an update left, if it differs by a hair of the step alone."""
    rows = {facts.comparison.keys[row]: row for row in facts.paired.rows(node)}
    read = [rows.get(key) for key in ("input.gradient", "parameters.value")]
    written = rows.get("output.value")
    if written is None or not all(_agrees(facts, row) for row in read):
        return None
    before = read[1]
    assert before is not None
    apart = max(
        _apart(facts, written), _distance(facts.paired.ours[written], facts.paired.theirs[written])
    )
    return written if apart < _OF_A_STEP * _step(facts, before, written) else None


def _apart(facts: Facts, row: int) -> float:
    """How far apart the sides of a row are, as far as its error tells."""
    return float(facts.comparison.scores.judged[row] * facts.comparison.statistics[1].table[3][row])


def _step(facts: Facts, before: int, written: int) -> float:
    """How far the benchmark's update moved a value: by sketches, else at least so far."""
    _, theirs = facts.comparison.statistics
    high, low, _, norm = abs(theirs.table[:, written] - theirs.table[:, before])
    return max(
        float(max(high, low, norm)),
        _distance(facts.paired.theirs[written], facts.paired.theirs[before]),
    )


def _distance(one: Record, other: Record) -> float:
    """The estimated distance of two values, 0 without sketches."""
    estimates = estimate_pairs([one], [other])
    distance = 0.0 if estimates is None else float(estimates.distance[0])
    return distance if isfinite(distance) else 0.0


def _agrees(facts: Facts, row: int | None) -> bool:
    return row is not None and bool(facts.comparison.scores.score[row] < _AGREES)
