"""Gradients go back on the ways of the forward pass: autograd has no other.

What a call reads in the backward pass is the sum of what those put out that read its output; where
they are several, or cut it, nobody records that sum.
"""

from __future__ import annotations

from collections import defaultdict, deque

from builder.flow.feeding import NOWHERE, Flow
from builder.flow.fingerprints import NO_PRINT
from builder.flow.passage_edges import PassageEdges, Reading, Way
from builder.flow.silent_calls import Calls
from builder.match.tree import TreeNode

_FAR = 64  # silent calls behind one among which the call is looked for that a gradient came from


def lead_back(flow: Flow, calls: Calls, edges: PassageEdges) -> None:
    """Gradients go back on the ways of the forward pass, where no value says so already."""
    nodes = flow.tree.in_order
    known = set(zip(flow.producer.tolist(), flow.consumer.tolist(), strict=True))
    lacking = _without_gradient_source(flow)
    silent = {order for order, is_silent in zip(calls.order, calls.silent) if is_silent}
    forward = [(edge[0], edge[1], told) for edge, (told, _) in edges.found.items()]
    replaced = {(edge[2], edge[1]) for edge in edges.found}
    forward += [(p, c, True) for p, c in known - replaced if p in lacking]
    feeds: defaultdict[int, set[int]] = defaultdict(set)
    hidden: set[int] = set()
    for producer, consumer, told in forward:
        one, other = nodes[producer].backward, nodes[consumer].backward
        if nodes[producer].direction != "forward" or one is None or other is None:
            continue
        if (other.exec_order, one.exec_order) not in known:
            edges.add(other.exec_order, Reading(one.exec_order), told)
            feeds[one.exec_order].add(other.exec_order)
        hidden |= {
            node.exec_order for node, at in ((one, producer), (other, consumer)) if at in silent
        }
    _lead_through(feeds, hidden, known, edges)
    _gradients(flow, edges)


def _gradients(flow: Flow, edges: PassageEdges) -> None:
    """The gradients of parameters, from the backward calls that put them out."""
    prints, keys = flow.prints.numbers, flow.tree.dump.values.keys
    made: defaultdict[int, set[int]] = defaultdict(set)
    for node in flow.tree.in_order:
        if node.direction == "backward" and node.kind == "api":
            for at in range(*node.values):
                if prints[at] != NO_PRINT and keys[at].startswith("output"):
                    made[prints[at]].add(node.exec_order)
    for node in flow.tree.in_order:
        if node.holds_gradients:
            told = [made[prints[at]] for at in range(*node.values) if prints[at] in made]
            for maker in _makers_for(node, told, flow.tree.in_order):
                edges.add(maker, Reading(node.exec_order), True)


def _makers_for(holder: TreeNode, told: list[set[int]], nodes: list[TreeNode]) -> set[int]:
    """Who made gradients, of all calls that put out the like of each.

    Biases that read one gradient have equal ones: the module's own call comes first, then one that
    another gradient of the module tells alone, then the latest before.
    """
    sure = {maker for makers in told for maker in makers if _runs_in(nodes[maker], holder.owner)}
    sure = sure or {maker for makers in told if len(makers) == 1 for maker in makers}
    found: set[int] = set()
    for makers in told:
        before = {maker for maker in makers if maker < holder.exec_order}
        found |= makers & sure or {max(before or makers)}
    return found


def _runs_in(call: TreeNode, owner: str) -> bool:
    """Whether the forward call of a backward one ran in a module of this name."""
    above = call.forward.parent if call.forward is not None else None
    while above is not None and above.owner != owner:
        above = above.parent
    return above is not None


def _lead_through(
    feeds: dict[int, set[int]],
    hidden: set[int],
    known: set[tuple[int, int]],
    edges: PassageEdges,
) -> None:
    """Where a gradient is known to come from a call behind silent ones, lead it through them."""
    sources: defaultdict[int, set[int]] = defaultdict(set)
    for far, reader in known:
        if reader in feeds:
            sources[reader].add(far)
    behind: dict[int, set[int]] = {}
    for reader, told_by in sources.items():
        for maker in feeds[reader] & hidden:
            if maker not in behind:
                behind[maker] = _behind(maker, feeds, hidden)
            for far in behind[maker] & told_by:
                told, value = edges.found.pop(Way(maker, reader, NOWHERE), (False, NOWHERE))
                edges.add(maker, Reading(reader, value), told, instead=far)


def _without_gradient_source(flow: Flow) -> set[int]:
    """Forward calls of which the backward call reads what no known call put out."""
    told = set(flow.value.tolist())
    keys, numbers = flow.tree.dump.values.keys, flow.prints.numbers
    return {
        node.forward.exec_order
        for node in flow.tree.in_order
        if node.direction == "backward" and node.kind == "api" and node.forward is not None
        for index in range(*node.values)
        if index not in told and keys[index].startswith("input") and numbers[index] != NO_PRINT
    }


def _behind(start: int, feeds: dict[int, set[int]], hidden: set[int]) -> set[int]:
    """What feeds a silent call through silent calls alone, the nearest `_FAR` of them."""
    found: set[int] = set()
    pending, seen = deque([start]), {start}
    while pending:
        for one in feeds.get(pending.popleft(), ()):
            if one not in hidden:
                found.add(one)
            elif one not in seen and len(seen) < _FAR:
                seen.add(one)
                pending.append(one)
    return found
