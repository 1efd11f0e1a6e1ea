"""Parameters that the optimizer of one run alone updates, though both runs have gradients of them.

No difference before it decides which parameters an optimizer was given, unless one of them got no
gradient: that is left out. So it stands alone behind any other cause. A weight that one run shares
is updated there by its other name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from builder.compare.comparison import Comparison
from builder.diagnosis.finding import Finding
from builder.diagnosis.tied_parameters import (
    GRADIENT,
    first_names,
    parameter_name,
    tied_names,
)
from builder.match.tree import Tree, TreeNode
from builder.match.updated_parameters import OTHER_PARAMETER
from builder.reasons import Side, UpdatedAlone


@dataclass
class _Lone:
    """What one run's optimizer alone updates: the calls, and the parameters in their order."""

    side: Side
    calls: dict[TreeNode, None] = field(default_factory=dict)
    names: dict[str, TreeNode] = field(default_factory=dict)
    """With the last call of each, which writes it."""

    @property
    def reason(self) -> UpdatedAlone:
        """What is said of them."""
        return UpdatedAlone(self.side, first_names(list(self.names)), len(self.names))


def say_updated_alone(comparison: Comparison, findings: Sequence[Finding]) -> list[Finding]:
    """The findings, with those of parameters that one run alone updates.

    Where such a call is named already, that is said of it first. Without any other finding nothing
    has differed yet: the next step shows it.
    """
    said = list(findings)
    for lone in _lone(comparison) if findings else ():
        named = next((finding for finding in said if finding.node in lone.calls), None)
        if named is None:
            said.append(_finding(lone, comparison))
        else:
            name_lone(named, lone.reason)
    return sorted(said, key=Finding.sort_key)


def say_late(comparison: Comparison, late: Finding | None) -> Finding | None:
    """What a step without findings leaves to the next, by the parameters where it is about such."""
    if late is not None:
        for lone in _lone(comparison):
            if late.node in lone.calls:
                name_lone(late, lone.reason)
    return late


def name_lone(finding: Finding, reason: UpdatedAlone) -> None:
    """Say of a finding first which parameters it is about."""
    finding.reasons.insert(0, reason)
    finding.stands_alone = True


def _lone(comparison: Comparison) -> Iterator[_Lone]:
    matching = comparison.matching
    sides: tuple[tuple[Side, Tree], ...] = (
        ("problem", matching.problem),
        ("benchmark", matching.benchmark),
    )
    updated = [(side, list(_updates(tree, matching.reason))) for side, tree in sides]
    if not any(updates for _, updates in updated):
        return
    held = set.intersection(*(set(_with_gradients(tree)) for _, tree in sides))
    tied = tied_names(comparison)
    for side, updates in updated:
        lone = _Lone(side)
        for node, name in updates:
            if name in held:
                lone.calls[node] = None
                lone.names[name] = node
        if lone.names and not tied.intersection(lone.names):
            yield lone


def _updates(tree: Tree, reason: Mapping[TreeNode, str]) -> Iterator[tuple[TreeNode, str]]:
    """The calls for parameters that the other run's optimizer does not have, with their names."""
    for node in tree.in_order:
        kind, _, name = reason.get(node, "").partition(":")
        if kind == OTHER_PARAMETER:
            yield node, name


def _with_gradients(tree: Tree) -> Iterator[str]:
    """The parameters of which a run holds gradients."""
    keys = tree.dump.values.keys
    for node in tree.in_order:
        if node.holds_gradients:
            for at in range(*node.values):
                yield parameter_name(node, keys[at].removeprefix(GRADIENT))


def _finding(lone: _Lone, comparison: Comparison) -> Finding:
    writer = next(iter(lone.names.values()))
    order = writer.exec_order
    if lone.side == "benchmark":
        order = _next_of_both(writer, comparison).exec_order
    found = Finding("input_differs", writer, lone.side, order, [lone.reason], stands_alone=True)
    found.carriers = [n for n in lone.calls if lone.side == "problem" and n is not writer]
    found.propagated_to = len(found.carriers)
    return found


def _next_of_both(node: TreeNode, comparison: Comparison) -> TreeNode:
    """The problem's partner of the first call behind one that the benchmark alone makes."""
    theirs = {other: own for own, other in comparison.matching.partner.items()}
    behind = comparison.matching.benchmark.in_order[node.exec_order :]
    return next((theirs[one] for one in behind if one in theirs), comparison.matching.problem.root)
