"""Pairs the nodes of two trees: modules by name, calls by alignment, backward through forward.

Call numbers are no part of a node's identity, so an inserted call shifts nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from builder.dump.values import Record
from builder.match.align import Token, align
from builder.tree import Tree, TreeNode

Translate = Callable[[str], str]


@dataclass(slots=True)
class Matching:
    """Partners in both directions by node identity, with the reason of each pair and non-pair."""

    problem: Tree
    benchmark: Tree
    partner: dict[TreeNode, TreeNode] = field(default_factory=dict)
    reason: dict[TreeNode, str] = field(default_factory=dict)

    def pair(self, ours: TreeNode, theirs: TreeNode, reason: str) -> None:
        """Record a pair; a node that is taken already keeps its first partner."""
        if ours in self.partner or theirs in self.partner:
            return
        self.partner[ours] = theirs
        self.partner[theirs] = ours
        self.reason[ours] = self.reason[theirs] = reason


def match_trees(problem: Tree, benchmark: Tree, translate: Translate | None = None) -> Matching:
    """Match all nodes; `translate` turns a problem module's owner into the benchmark's."""
    matching = Matching(problem, benchmark)
    matching.pair(problem.root, benchmark.root, "name")
    pending = [(problem.root, benchmark.root)]
    while pending:
        ours, theirs = pending.pop()
        pending += _match_children(matching, ours, theirs, translate or _same)
    _match_backward(matching)
    _match_gradients(matching)
    _explain_unmatched(matching)
    return matching


def _same(owner: str) -> str:
    return owner


def _match_children(
    matching: Matching, ours: TreeNode, theirs: TreeNode, translate: Translate
) -> list[tuple[TreeNode, TreeNode]]:
    left = [child for child in ours.children if _by_sequence(child, matching.problem)]
    right = [child for child in theirs.children if _by_sequence(child, matching.benchmark)]
    opened = _match_modules(matching, left, right, translate)
    _match_calls(matching, left, right, opened)
    return opened


def _by_sequence(node: TreeNode, tree: Tree) -> bool:
    # Backward calls go with their forward calls; only those without one stand for themselves.
    if node.entry is None or node.entry.direction == "forward":
        return not node.recomputed or node.entry is None or node.parent is not tree.root
    return node.entry.kind != "parameters_grad" and node.entry.twin("forward") not in tree.by_name


def _match_modules(
    matching: Matching, left: list[TreeNode], right: list[TreeNode], translate: Translate
) -> list[tuple[TreeNode, TreeNode]]:
    waiting: dict[tuple[str, str | None], list[TreeNode]] = {}
    for node in reversed(right):
        if node.kind == "module":
            waiting.setdefault((_neutral(node.owner), node.direction), []).append(node)
    opened = []
    for node in left:
        if node.kind != "module":
            continue
        owner = _neutral(node.owner)
        wanted = translate(owner)
        candidates = waiting.get((wanted, node.direction))
        if candidates:
            partner = candidates.pop()
            matching.pair(node, partner, "name" if wanted == owner else "mapping")
            opened.append((node, partner))
    return opened


def _neutral(owner: str) -> str:
    return f"Module{owner[4:]}" if owner.startswith("Cell.") else owner


def _match_calls(
    matching: Matching,
    left: list[TreeNode],
    right: list[TreeNode],
    opened: list[tuple[TreeNode, TreeNode]],
) -> None:
    # Matched modules are tokens of their own; where their order differs between the sides, the
    # alignment drops the fewest of them, and their match by name stands all the same.
    rank = {node: index for index, pair in enumerate(opened) for node in pair}
    if _names(left, rank) == _names(right, rank):
        for one, other in zip(left, right, strict=True):
            matching.pair(one, other, "aligned")
        return
    ours = [_token(node, matching.problem, rank) for node in left]
    theirs = [_token(node, matching.benchmark, rank) for node in right]
    for i, j in align(ours, theirs):
        if left[i].kind == "api" or left[i].name == right[j].name:
            matching.pair(left[i], right[j], "aligned")


def _names(nodes: list[TreeNode], rank: dict[TreeNode, int]) -> list[object]:
    return [
        (node.owner, node.direction) if node.kind == "api" else rank.get(node, node.name)
        for node in nodes
    ]


def _token(node: TreeNode, tree: Tree, rank: dict[TreeNode, int]) -> Token:
    if node.kind == "module":
        return Token(("module", rank.get(node, node.name)))
    start, stop = node.values
    records = tree.dump.values.records[start:stop]
    shapes = tuple(record.shape for record in records)
    arguments = tuple(repr(record.value) for record in records if record.dtype is None)
    return Token((node.owner, node.direction), shapes, (arguments, _first_input(tree, node)))


def _first_input(tree: Tree, node: TreeNode) -> float | None:
    # Three digits of the first input's norm tell equal calls apart without asking for equality.
    start, stop = node.values
    for record in tree.dump.values.records[start:stop]:
        if record.dtype is not None:
            return _rounded(record)
    return None


def _rounded(record: Record) -> float | None:
    norm = record.Norm
    return float(f"{norm:.2e}") if isinstance(norm, float) else None


def _match_backward(matching: Matching) -> None:
    for node in matching.problem.in_order:
        entry = node.entry
        if entry is None or entry.direction != "backward" or entry.kind == "parameters_grad":
            continue
        forward = matching.problem.by_name.get(entry.twin("forward"))
        partner = matching.partner.get(forward) if forward is not None else None
        if forward is None or partner is None or partner.entry is None:
            continue
        backward = matching.benchmark.by_name.get(partner.entry.twin("backward"))
        if backward is not None:
            matching.pair(node, backward, matching.reason[forward])


def _match_gradients(matching: Matching) -> None:
    for node in matching.problem.in_order:
        entry = node.entry
        if entry is None or entry.kind != "parameters_grad" or node.parent is None:
            continue
        partner = matching.partner.get(node.parent)
        if partner is None:
            continue
        for candidate in partner.children:
            theirs = candidate.entry
            if theirs is not None and theirs.kind == "parameters_grad":
                alone = partner is not matching.benchmark.root
                if alone or (theirs.owner, theirs.call) == (entry.owner, entry.call):
                    matching.pair(node, candidate, matching.reason[node.parent])


def _explain_unmatched(matching: Matching) -> None:
    for tree in (matching.problem, matching.benchmark):
        for node in tree.in_order:
            if node in matching.partner:
                continue
            if node.recomputed:
                matching.reason[node] = "recomputed"
            elif node.parent is not None and node.parent not in matching.partner:
                matching.reason[node] = "parent_unmatched"
            else:
                matching.reason[node] = "absent"
