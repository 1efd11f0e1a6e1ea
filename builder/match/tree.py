"""Builds the call tree of one dump: modules, calls, parameter gradients, optimizer.

Siblings stand in the order in which they began; execution order is the order of completion.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from builder.dump.reader import Dump
from builder.operators.table import plain_name
from msprobe_core.format import Direction, EntryName, NameSyntaxError, of_any_pass, parse_entry

Kind = Literal["root", "module", "api", "collection"]
StepPhase = Literal["forward", "backward", "after"]
_PHASES: tuple[StepPhase, ...] = ("forward", "backward", "after")
ROOT_NAME = "DefaultModel"


@dataclass(slots=True, eq=False)
class TreeNode:
    """One entry of a dump in its place; `entry` is None where a name is outside the grammar.

    `owner` is the name without direction and call number; `direction` is None at the root and at
    collections. `forward` is the forward call of a backward entry or of gradients, `backward` the
    backward entry of a forward call or of gradients.
    """

    name: str
    kind: Kind
    entry: EntryName | None
    owner: str = ""
    direction: Direction | None = None
    parent: TreeNode | None = field(default=None, repr=False)
    top: TreeNode | None = field(
        default=None, repr=False
    )  # of those above it the one below the root
    forward: TreeNode | None = field(default=None, repr=False)
    backward: TreeNode | None = field(default=None, repr=False)
    goes_through: TreeNode | None = field(default=None, repr=False)  # `forward`, in any pass
    children: list[TreeNode] = field(default_factory=list)
    values: tuple[int, int] = (0, 0)
    stack: int | None = None
    micro_step: int = 0
    training: bool | None = None  # the mode of a module's call, where the dump tells it
    recomputed: bool = False
    after_backward: bool = False  # of top-level nodes: a backward pass of its micro-step came first
    turn: int = 0  # of top-level nodes: how often calls behind a backward pass came before its pass
    exec_order: int = -1
    depth: int = 0
    index: int = -1  # in pre-order, once the tree is laid out for the database
    began: float = 0.0  # index in the dump's own order, the earliest of all below

    @property
    def phase(self) -> StepPhase:
        """The part of a step that it runs in.

        Recomputed calls run during the backward pass; gradient synchronisation, clipping and the
        optimizer come after it.
        """
        if self.recomputed or self.direction == "backward":
            return "backward"
        top = self.top or self
        return "after" if top.entry is None or top.after_backward else "forward"

    @property
    def in_step(self) -> tuple[int, int]:
        """Sorts nodes of one step by the part of it that they run in, then by their order.

        Micro-steps have their parts together, up to an update: what runs behind it comes behind it.
        """
        turn = (self.top or self).turn
        return (len(_PHASES) * turn + _PHASES.index(self.phase), self.exec_order)

    @property
    def is_update(self) -> bool:
        """Whether it is what an optimizer did to one parameter."""
        return self.entry is not None and self.entry.prefix == "Optimizer"

    @property
    def call(self) -> str:
        """The plain name of an API call, as operators are known by; "" for everything else."""
        if self.kind != "api" or self.entry is None:
            return ""
        return plain_name(self.entry.type_name)

    @property
    def holds_gradients(self) -> bool:
        """Whether it is the gradients of the parameters of a module."""
        return self.entry is not None and self.entry.kind == "parameters_grad"

    @property
    def label(self) -> str:
        """The short name that a box shows."""
        if self.entry is None:
            return self.name
        if self.entry.kind == "parameters_grad":
            return "parameters_grad"
        if self.entry.kind == "api":
            return parse_entry(self.name).type_name
        return self.entry.path.rpartition(".")[2] or self.entry.type_name


def runs_behind_gradients(in_step: tuple[int, int]) -> bool:
    """Whether a node with such a place in its step runs behind a backward pass."""
    return in_step[0] % len(_PHASES) == _PHASES.index("after")


@dataclass(slots=True)
class Tree:
    """The nodes of one dump: `root`, all by name, and all in execution order (root last)."""

    dump: Dump
    root: TreeNode
    by_name: dict[str, TreeNode]
    in_order: list[TreeNode]


def build_tree(dump: Dump) -> Tree:
    """Place every entry of a dump under its parent; cycles and lost parents end at the root."""
    root = TreeNode(ROOT_NAME, "root", None, began=float("inf"))
    by_name = _make_nodes(dump)
    for name, node in by_name.items():
        parent = dump.parents.get(name)
        node.parent = root if parent is None or parent == name else by_name[parent]
    _link_passes(by_name)
    _place_gradients(root, by_name)
    _place_recomputed(by_name)
    _place_late(by_name)
    _adopt(root, by_name)
    parents_first = subtree(root)
    if len(parents_first) <= len(by_name):
        _cut_cycles(root, by_name)
        parents_first = subtree(root)
    in_order = _arrange(parents_first)
    _inherit_stacks(by_name)
    if not dump.micro_steps:
        _count_micro_steps(root)
    _mark_after_backward(root)
    return Tree(dump, root, by_name, in_order)


def outputs_of(node: TreeNode, tree: Tree) -> Iterator[int]:
    """The values that a node puts out."""
    keys = tree.dump.values.keys
    return (index for index in range(*node.values) if keys[index].startswith("output"))


def recorded_outputs(node: TreeNode, tree: Tree) -> list[int]:
    """Those of which a dtype was recorded, as it is of no call that left no values."""
    records = tree.dump.values.records
    return [index for index in outputs_of(node, tree) if records[index].dtype is not None]


def subtree(node: TreeNode) -> list[TreeNode]:
    """The node and everything below it, parents first, siblings in order."""
    listed: list[TreeNode] = []
    pending = [node]
    while pending:
        current = pending.pop()
        listed.append(current)
        pending.extend(reversed(current.children))
    return listed


def _make_nodes(dump: Dump) -> dict[str, TreeNode]:
    by_name: dict[str, TreeNode] = {}
    for index, name in enumerate(dump.parents):
        by_name[name] = make_node(dump, name, float(index))
    last = -1.0
    step = 1.0 / (len(dump.ranges) + 2)
    for name in dump.ranges:
        known = by_name.get(name)
        if known is None:
            # Absent from construct.json: it belongs right after what was dumped before it.
            last += step
            by_name[name] = make_node(dump, name, last)
        else:
            last = max(last, known.began)
    for parent in list(dump.parents.values()):
        if parent is not None and parent not in by_name:
            by_name[parent] = make_node(dump, parent, float(len(dump.parents)))
    return by_name


def make_node(dump: Dump, name: str, began: float) -> TreeNode:
    """One entry as a node without a place; `began` is its index in the order of the dump."""
    try:
        entry = parse_entry(name)
    except NameSyntaxError:
        entry = None
    kind: Kind = "api" if entry is not None and entry.kind == "api" else "module"
    return TreeNode(
        name,
        kind,
        entry,
        entry.owner if entry is not None else name,
        entry.direction if entry is not None else "forward",
        values=dump.ranges.get(name, (0, 0)),
        stack=dump.stacks.get(name),
        micro_step=dump.micro_steps.get(name, 0),
        training=dump.modes.get(name),
        began=began,
    )


def _link_passes(by_name: dict[str, TreeNode]) -> None:
    for node in by_name.values():
        if node.direction != "backward" or node.entry is None:
            continue
        forward = node.entry.twin("forward")
        node.forward = by_name.get(forward)
        node.goes_through = by_name.get(of_any_pass(forward))
        if node.holds_gradients:
            node.backward = by_name.get(node.entry.twin("backward"))
        elif node.forward is not None:
            node.forward.backward = node


def _place_gradients(root: TreeNode, by_name: dict[str, TreeNode]) -> None:
    """Put gradients of parameters below the backward entry that left them.

    They are numbered by themselves: where a call of a module got no gradient, as one whose result
    is detached, the first gradients are of a later call. So the n-th are of the n-th backward entry
    where there are as many of both. Else they are a sum over several calls, and were written when
    the last of these ran.
    """
    free = [n for n in by_name.values() if n.parent is root and n.holds_gradients]
    owners = {node.owner for node in free}
    passes: dict[str, list[TreeNode]] = {owner: [] for owner in owners}
    gradients: dict[str, list[TreeNode]] = {owner: [] for owner in owners}
    for node in by_name.values() if owners else ():
        if node.owner in owners and node.direction == "backward":
            (gradients if node.holds_gradients else passes)[node.owner].append(node)
    for owner in owners:
        own, left = passes[owner], gradients[owner]
        if 1 < len(left) < len(own):
            ran = sorted(own, key=_began)
            last = [_nearest(ran, gradient) for gradient in left]
            if len(set(last)) == len(left):
                for node, one in zip(left, last):
                    node.backward = one
        elif len(own) == len(left):
            for node, one in zip(left, own):
                node.backward = node.backward or one
    for node in free:
        node.parent = node.backward or by_name.get(f"{node.owner}.backward.0") or root
    _place_around([node for node in free if node.parent is root], by_name)


def _place_around(alone: list[TreeNode], by_name: dict[str, TreeNode]) -> None:
    """Put gradients of modules that are not called below the backward entry around them, if any."""
    around = _backward_by_path(by_name) if alone else {}
    for node in alone:
        node.parent = _backward_around(node, around) or node.parent


def _backward_by_path(by_name: dict[str, TreeNode]) -> dict[str, list[TreeNode]]:
    found: dict[str, list[TreeNode]] = {}
    for node in by_name.values():
        if node.direction == "backward" and node.entry is not None and node.entry.kind == "module":
            found.setdefault(node.entry.path, []).append(node)
    for nodes in found.values():
        nodes.sort(key=_began)
    return found


def _backward_around(node: TreeNode, around: dict[str, list[TreeNode]]) -> TreeNode | None:
    """The backward entry of the module that reads the parameters of one that is not called.

    As of the projection that an attention hands to a function.
    """
    path = node.entry.path if node.entry is not None else ""
    while path:
        path = path.rpartition(".")[0]
        if path in around:
            return _nearest(around[path], node)
    return None


def _nearest(nodes: list[TreeNode], node: TreeNode) -> TreeNode:
    """The one of some nodes, in the order in which they began, that began nearest to another."""
    at = bisect_right(nodes, node.began, key=_began)
    return min(nodes[max(0, at - 1) : at + 1], key=lambda one: abs(one.began - node.began))


def _place_recomputed(by_name: dict[str, TreeNode]) -> None:
    # A forward call under a backward one is activation checkpointing at work: whatever call was
    # open at that moment is recorded as its parent, but it belongs to its own module's backward.
    for node in by_name.values():
        parent = node.parent
        if node.direction != "forward" or parent is None or parent.direction != "backward":
            continue
        node.recomputed = True
        if node.kind == "module" and node.entry is not None:
            node.parent = _latest_backward(node.entry, by_name) or parent


def _place_late(by_name: dict[str, TreeNode]) -> None:
    """Put what only a later pass reaches into that pass of the module around it.

    An embedding gets no gradient where the loss is differentiated with respect to the data: its
    first backward entry is of the second pass, and has the parent that the first pass left behind.
    """
    later = _later_passes(by_name)
    forward = [n.began for n in by_name.values() if n.direction == "forward" and not n.recomputed]
    for node in by_name.values() if later else ():
        parent = node.parent
        if parent is None or parent.name not in later or node.direction != "backward":
            continue
        at = bisect_right(forward, parent.began)
        if at < len(forward) and forward[at] < node.began:
            node.parent = next((n for n in later[parent.name] if n.began > forward[at]), parent)


def _later_passes(by_name: dict[str, TreeNode]) -> dict[str, list[TreeNode]]:
    """Modules by the name of their first pass, with what stands for the second and further ones."""
    later: dict[str, list[TreeNode]] = {}
    for name, node in by_name.items():
        first = of_any_pass(name)
        if first != name and node.kind == "module":
            later.setdefault(first, []).append(node)
    return later


def _latest_backward(entry: EntryName, by_name: dict[str, TreeNode]) -> TreeNode | None:
    for call in range(entry.call or 0, -1, -1):
        node = by_name.get(f"{entry.owner}.backward.{call}")
        if node is not None:
            return node
    return None


def _cut_cycles(root: TreeNode, by_name: dict[str, TreeNode]) -> None:
    reaches_root = {id(root)}
    for start in by_name.values():
        trail: list[TreeNode] = []
        seen: set[int] = set()
        node = start
        while id(node) not in reaches_root and id(node) not in seen:
            seen.add(id(node))
            trail.append(node)
            assert node.parent is not None
            node = node.parent
        if id(node) not in reaches_root:
            node.parent = root
        reaches_root.update(id(passed) for passed in trail)
    _adopt(root, by_name)


def _adopt(root: TreeNode, by_name: dict[str, TreeNode]) -> None:
    root.children.clear()
    for node in by_name.values():
        node.children.clear()
    for node in by_name.values():
        assert node.parent is not None
        node.parent.children.append(node)


def _arrange(parents_first: list[TreeNode]) -> list[TreeNode]:
    for node in reversed(parents_first):
        if node.parent is not None and node.began < node.parent.began:
            node.parent.began = node.began
    for node in parents_first:
        node.children.sort(key=_began)
        for child in node.children:
            child.depth = node.depth + 1
            child.top = node.top or child
            child.recomputed = child.recomputed or node.recomputed
    return _complete(parents_first[0])


def _began(node: TreeNode) -> float:
    return node.began


def _mark_after_backward(root: TreeNode) -> None:
    """Tell what runs behind the gradients of its micro-step, and what is another turn.

    What is differentiated itself behind a backward pass, as a penalty on gradients is, belongs to
    a further forward pass; what a hook calls, or an optimizer, is not.
    """
    begun: set[int] = set()
    turn, turns = 0, {0: 0}
    for child in root.children:
        if child.micro_step in begun and child.direction == "forward" and child.backward:
            begun.discard(child.micro_step)
            turn = turns[child.micro_step] = turns[child.micro_step] + 1
        child.after_backward = child.direction != "backward" and child.micro_step in begun
        if child.direction == "backward":
            begun.add(child.micro_step)
        child.turn = turns.setdefault(child.micro_step, turn)
        if child.after_backward and child.direction is not None:
            turn = child.turn + 1  # of the micro-steps that begin from here on


def _complete(root: TreeNode) -> list[TreeNode]:
    # Post-order without recursion: a chain of 100,000 modules must not overflow the stack.
    reversed_order: list[TreeNode] = []
    pending = [root]
    while pending:
        node = pending.pop()
        reversed_order.append(node)
        pending.extend(node.children)
    reversed_order.reverse()
    for index, node in enumerate(reversed_order):
        node.exec_order = index
    return reversed_order


def _inherit_stacks(by_name: dict[str, TreeNode]) -> None:
    for node in by_name.values():
        if node.stack is None and node.forward is not None:
            node.stack = node.forward.stack


def _count_micro_steps(root: TreeNode) -> None:
    # A module of the top level that starts again after a backward pass opens a new micro-step.
    seen: set[str] = set()
    micro_step, backward = 0, False
    for child in root.children:
        again = child.kind == "module" and child.owner in seen
        if child.direction == "forward" and backward and again:
            micro_step, backward = micro_step + 1, False
            seen.clear()
        backward = backward or child.direction == "backward"
        if child.kind == "module" and child.direction == "forward":
            seen.add(child.owner)
        if micro_step:
            for node in subtree(child):
                node.micro_step = micro_step
