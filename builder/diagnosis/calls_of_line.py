"""All calls that one run alone makes on the line of a finding, those behind calls of both as well.

`(n - 1) // 2 + 1` where the other run has `n // 2` adds a call before the division and one behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from builder.compare.comparison import Comparison
from builder.diagnosis.causes import calling_lines, is_users_own
from builder.diagnosis.finding import Finding
from builder.match.tree import Tree, TreeNode
from builder.operators.table import has
from builder.reasons import ExtraCalls, MissingCalls

_MOST = 5  # names in a sentence
_AHEAD = 32  # calls of a line, those of both runs among them


def say_whole_line(comparison: Comparison, findings: Iterable[Finding]) -> None:
    """Tell of findings about calls that one run alone makes the others of their line."""
    matching = comparison.matching
    for finding in findings:
        told = finding.reasons[0]
        if not isinstance(told, ExtraCalls | MissingCalls) or finding.node.stack is None:
            continue
        tree = matching.problem if isinstance(told, ExtraCalls) else matching.benchmark
        more = [n.name for n in _behind(tree, finding.node) if n not in matching.partner]
        names = [*dict.fromkeys((*told.names.split(", "), *more))][:_MOST]
        finding.reasons[0] = msgspec.structs.replace(told, names=", ".join(names))


def _behind(tree: Tree, node: TreeNode) -> Iterator[TreeNode]:
    """The calls of a line of the user's behind one of them, up to the next line or turn of it."""
    if not is_users_own(calling_lines(tree, node)):
        return
    start = node.exec_order + 1
    for call in tree.in_order[start : start + _AHEAD]:
        if call.kind != "api" or call.parent is not node.parent or call.stack != node.stack:
            return
        if call.call == node.call:
            return
        if not has(call.call, "tells"):
            yield call
