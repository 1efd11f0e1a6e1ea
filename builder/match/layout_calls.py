"""Tells the calls that a parallel layout makes from those of the model.

A layer that is cut over ranks has another class and other calls inside, and between layers stand
collectives with the copies around them. They are no suspects: what matters is the layer's output.
"""

from __future__ import annotations

from builder.match.nodes import Matching
from builder.match.tree import TreeNode
from builder.operators.table import Trait, has
from msprobe_core.format import COMMUNICATION

REASON = "layout"
# What a layout does beside its collectives: it shapes, cuts, joins and creates, masks what is not
# its own, divides by the number of ranks and reads the result.
_SHAPING: tuple[Trait, ...] = ("join", "part", "repeat", "view", "pad", "bound", "create")
_BESIDE = frozenset("new_empty masked_fill requires_grad item tolist div wait".split())


def mark_layout_calls(matching: Matching) -> frozenset[str]:
    """Give calls that the layout makes their reason; returns the problem's weak entries.

    Weak are matched calls whose values may be another thing on either side: inside a layer of
    another class, communication, and what stands in no module.
    """
    for tree in (matching.problem, matching.benchmark):
        for node in tree.in_order:
            if node not in matching.partner and _is_made_by_layout(matching, node):
                matching.reason[node] = REASON
    matched = (node for node in matching.problem.in_order if node in matching.partner)
    return frozenset(node.name for node in matched if _is_weak(matching, node))


def _is_made_by_layout(matching: Matching, node: TreeNode) -> bool:
    entry = node.entry
    if node.kind != "api" or entry is None:
        return False
    if entry.prefix in COMMUNICATION or node.call in _BESIDE or has(node.call, *_SHAPING):
        return True
    if node.forward is not None and matching.reason.get(node.forward) == REASON:
        return True
    return is_rewritten(matching, node.parent) or _is_loose(node)


def _is_weak(matching: Matching, node: TreeNode) -> bool:
    entry = node.entry
    if node.kind != "api" or entry is None or node.is_update:
        return False
    if entry.prefix in COMMUNICATION:
        return True
    return is_rewritten(matching, node.parent) or _is_loose(node)


def is_rewritten(matching: Matching, module: TreeNode | None) -> bool:
    """Whether a module has another class than its partner, or talks to other ranks itself."""
    partner = matching.partner.get(module) if module is not None else None
    if module is None or partner is None or module.entry is None or partner.entry is None:
        return False
    if module.entry.type_name != partner.entry.type_name:
        return True
    return _talks(module) or _talks(partner)


def _talks(module: TreeNode) -> bool:
    children = module.children if module.forward is None else module.forward.children
    return any(c.entry is not None and c.entry.prefix in COMMUNICATION for c in children)


def _is_loose(node: TreeNode) -> bool:
    """Whether a call stands in no module and is none of a loss."""
    parent = node.parent
    if parent is not None and parent.kind == "module" and parent.entry is not None:
        return False
    return node.entry is not None and node.entry.prefix != "Functional"
