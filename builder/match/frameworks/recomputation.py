"""Recomputation as if it were none, where a framework wraps modules for it and numbers them anew.

Its `recomputing` modules stand around the content of another, which is called again in the backward
pass: those calls, and their gradients, have numbers of their own. The gradients of the second calls
are those of the first ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from builder.dump.reader import Dump
from builder.match.frameworks.leaving_out import without_entries
from builder.match.tree import Tree, TreeNode
from msprobe_core.format import NameSyntaxError, framework_named, parse_entry


def without_wrappers(dump: Dump) -> Dump:
    """The dump without the wrapping modules: what runs in them runs in the module around them."""
    wrappers = framework_named(dump.framework).recomputing
    if not wrappers:
        return dump
    gone = {name for name in {**dump.parents, **dump.ranges} if _is_one(name, wrappers)}
    if not gone:
        return dump
    parents = {name: _outside(above, dump, gone) for name, above in dump.parents.items()}
    return without_entries(dump, gone, parents)


def link_recomputed(tree: Tree) -> None:
    """Let the first call of what was recomputed have the backward entry of the second.

    Calls of one module pair in their order: where a module is called in several recomputed blocks,
    whose order the backward pass turns round, its gradients are those of another call.
    """
    if not framework_named(tree.dump.framework).recomputing:
        return
    again = [n for n in tree.in_order if n.recomputed and n.kind == "module"]
    first = [n for n in tree.in_order if not n.recomputed and n.kind == "module"]
    _link(first, again)
    if again:
        _place_gradients(tree)
    blocks = [n for n in tree.in_order if n.direction == "backward" and n.forward is not None]
    for block in blocks:
        assert block.forward is not None
        for twin in _second(block):
            _link(block.forward.children, [c for c in twin.children if c.kind == "api"])
        _link(block.forward.children, [c for c in block.children if c.recomputed])


def _place_gradients(tree: Tree) -> None:
    """Put gradients of parameters below the one backward entry that their module has."""
    ways = [n for n in tree.in_order if n.entry is not None and n.direction == "backward"]
    above = {n.owner: n for n in ways if n.entry is not None and n.entry.kind == "module"}
    moved = [
        node
        for node in ways
        if node.parent is tree.root and node.owner in above and node.holds_gradients
    ]
    gone = set(moved)
    tree.root.children = [node for node in tree.root.children if node not in gone]
    for node in moved:
        parent = above[node.owner]
        node.parent, node.top, node.depth = parent, parent.top or parent, parent.depth + 1
        parent.children.append(node)


def _second(block: TreeNode) -> list[TreeNode]:
    """The repeated forward calls that stand below a module's backward entry."""
    return [c for c in block.children if c.recomputed and c.owner == block.owner]


def _link(first: Sequence[TreeNode], again: Sequence[TreeNode]) -> None:
    """Give the backward entries of repeated calls to the first calls, by name and in order."""
    waiting: dict[str, list[TreeNode]] = {}
    for node in sorted(first, key=_number, reverse=True):
        if node.direction == "forward" and not node.recomputed:
            waiting.setdefault(node.owner, []).append(node)
    for node in sorted(again, key=_number):
        if node.direction != "forward" or not waiting.get(node.owner):
            continue
        twin = waiting[node.owner].pop()
        if twin.backward is None and node.backward is not None:
            twin.backward, node.backward.forward, node.backward = node.backward, twin, None


def _number(node: TreeNode) -> int:
    return 0 if node.entry is None else node.entry.call or 0


def _is_one(name: str, classes: frozenset[str]) -> bool:
    try:
        return parse_entry(name).type_name in classes
    except NameSyntaxError:
        return False


def _outside(parent: str | None, dump: Dump, gone: set[str]) -> str | None:
    seen: set[str] = set()
    while parent is not None and parent in gone and parent not in seen:
        seen.add(parent)
        parent = dump.parents.get(parent)
    return None if parent in seen else parent
