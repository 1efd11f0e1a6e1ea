"""Takes back findings by scores where a bound explains the whole distance."""

from __future__ import annotations

from dataclasses import replace

from builder.compare.comparison import Comparison
from builder.diagnosis.attribution import PLAIN
from builder.diagnosis.excess import Expected
from builder.diagnosis.finding import Finding
from builder.diagnosis.walked import Walked


def without_bounded(walked: Walked, comparison: Comparison) -> Walked:
    """The findings without calls that put out no more than their inputs and rounding explain.

    A score knows a format's tolerance and not what a call makes of it: a norm over four numbers
    that nearly agree blows rounding up. Distances need elements; without, all findings stay.
    """
    if comparison.estimates is None and not comparison.tensors:
        return walked
    known = Expected(comparison)
    kept = [f for f in walked.findings if not _is_bounded(f, known, comparison)]
    return replace(walked, findings=kept)


def _is_bounded(finding: Finding, known: Expected, comparison: Comparison) -> bool:
    node = finding.node
    matched = finding.side == "problem" and node in comparison.matching.partner
    if finding.kind != "introduced" or node.kind != "api" or not matched:
        return False
    outputs = [row for row in known.outputs(node) if known.distance[row] > 0]
    expected = [(known.distance[row], known.expected(node, row)) for row in outputs]
    return bool(outputs) and all(e.told and apart <= PLAIN * e.distance for apart, e in expected)
