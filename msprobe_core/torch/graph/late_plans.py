"""What a graph of inductor's is to record: the marks of a trace, taken out before inductor's passes
begin and kept as a plan, and put back as records when the passes are over.

A record that a pass can see keeps it from matching, and a fault of that pass from its observer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.fx import Graph, Node
from torch.utils._pytree import tree_flatten

from msprobe_core.torch.graph.late_copies import RecordPlaces
from msprobe_core.torch.graph.log import Note

MARK = "late_"
"""Before the name of an operator that is a mark and no record."""
_KEY = "msprobe"
_aten = torch.ops.aten
_SAME_ORDER = frozenset(
    {
        _aten.view.default,
        _aten._unsafe_view.default,
        _aten.reshape.default,
        _aten.unsqueeze.default,
        _aten.squeeze.dim,
        _aten.squeeze.dims,
        _aten.alias.default,
        _aten.detach.default,
        _aten.clone.default,
    }
)
"""Operators whose result has the same elements in the same order: what stands for their result when
a pass has removed them.
"""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a trace has marked. `owner` counts the plan's owners, and is -1 for a call of
    torch's API, whose `site` is its number.
    """

    note: Note
    owner: int = -1
    site: int = -1


@dataclass(slots=True, eq=False)
class Plan:
    """The events of one traced graph in their order; `owners` are the graph's inputs that tell
    which modules run, as layers may share a graph.
    """

    events: list[Event] = field(default_factory=list)
    owners: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LateSite:
    """Where a row of a graph belongs: an event of a plan, or the number of one of its owners."""

    plan: Plan
    event: int = -1
    owner: int = -1


LATE_SITES: list[LateSite] = []
"""Compiled graphs hold numbers of these, so none is ever removed."""


@dataclass(frozen=True, slots=True)
class _Mark:
    """On a node: its value is that of an event, `distance` views away."""

    plan: Plan
    event: int
    distance: int

    def __copy__(self) -> _Mark:
        return self

    def __deepcopy__(self, _: object) -> _Mark:
        return self


def take_marks(graph: Graph) -> None:
    """Take all marks out of a graph, forward and backward in one, and note them on its nodes."""
    plan = Plan()
    for node in list(graph.nodes):
        if _is_mark(node) and node.args[0] is None:  # a gradient that nobody has sent
            graph.erase_node(node)
        elif _is_mark(node):
            event, value = _event_of(node, plan)
            if value is not None:
                for distance, each in enumerate(_with_same_elements(value)):
                    _note_on(each, _Mark(plan, len(plan.events), distance))
            plan.events.append(event)
            graph.erase_node(node)
    _note_on_first_of_alike(graph)


def place_records(graph: Graph) -> None:
    """Record each node of a finished graph that still has a mark's value: the graph's inputs where
    it begins, as it may overwrite them, and all else at its end.
    """
    is_backward = any(node.name.startswith("tangents") for node in _inputs(graph))
    found = _nearest(graph, is_backward)
    if not is_backward:
        for plan in dict.fromkeys(mark.plan for mark in found):
            _place_owners(graph, plan)
    places = RecordPlaces(graph)
    last_input = next(reversed(list(_inputs(graph))), None)
    sites: dict[Node, list[int]] = {}
    for mark, node in found.items():
        sites.setdefault(node, []).append(_number_of(LateSite(mark.plan, mark.event)))
    for node, numbers in sites.items():
        if node.op == "placeholder":
            with graph.inserting_after(last_input):
                graph.call_function(torch.ops.msprobe.row.default, (node, numbers))
        else:
            places.add(node, numbers)


def _is_mark(node: Node) -> bool:
    target = node.target
    return isinstance(target, torch._ops.OpOverload) and target.name().startswith(
        f"msprobe::{MARK}"
    )


def _event_of(node: Node, plan: Plan) -> tuple[Event, Node | None]:
    """The event that a mark tells of, and the node of its value."""
    kind = node.target.name().partition(MARK)[2]  # type: ignore[union-attr]  # a mark is an operator
    given: tuple[Any, ...] = node.args
    if kind == "begin":
        return Event(Note("begin", stack=given[1]), _owner_number(given[0], plan)), None
    if kind == "end":
        return Event(Note("end"), _owner_number(given[0], plan)), None
    value, whose, place = given[:3]
    is_call = kind.startswith("call")
    note = _note(value, "gradient" if kind.endswith("gradient") else "value", place, is_call)
    if kind in ("value", "call"):
        note = replace(note, requires_grad=given[3], first=is_call and given[4])
    if is_call:
        return Event(note, site=whose), value
    return Event(note, _owner_number(whose, plan)), value


def _note(value: Node, kind: Any, place: str, is_call: bool) -> Note:
    seen = value.meta["val"]
    shape = tuple(seen.shape)
    is_known = all(type(size) is int for size in shape)
    return Note(kind, is_call, place, dtype=seen.dtype, shape=shape if is_known else None)


def _owner_number(owner: Node, plan: Plan) -> int:
    if owner.name not in plan.owners:
        plan.owners.append(owner.name)
    return plan.owners.index(owner.name)


def _with_same_elements(node: Node) -> Iterator[Node]:
    """The node, and those before it that have its elements in its order."""
    yield node
    while node.target in _SAME_ORDER and isinstance(node.args[0], Node):
        node = node.args[0]
        yield node


def _note_on(node: Node, mark: _Mark) -> None:
    custom = node.meta.get("custom") or {}
    # Passes hand on what stands in "custom" to the nodes that replace one.
    node.meta["custom"] = {**custom, _KEY: (*custom.get(_KEY, ()), mark)}


def _note_on_first_of_alike(graph: Graph) -> None:
    """Note marks also on the first node that computes the same: of several that do, inductor keeps
    that one. Where it keeps more, the marks of the later ones are the last ones, which count.
    """
    first_alike: dict[Node, Node] = {}
    known: dict[object, Node] = {}
    for node in graph.nodes:
        key = _computation(node, first_alike)
        first = node if key is None else known.setdefault(key, node)
        first_alike[node] = first
        if first is not node:
            for mark in (node.meta.get("custom") or {}).get(_KEY, ()):
                _note_on(first, mark)


def _computation(node: Node, first_alike: dict[Node, Node]) -> object:
    """What two nodes have in common that compute the same; None for one that is like no other."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload) or target._schema.is_mutable:
        return None
    if torch.Tag.nondeterministic_seeded in target.tags:
        return None
    leaves, form = tree_flatten((node.args, node.kwargs))
    try:
        key = (target, str(form), *((type(each), first_alike.get(each, each)) for each in leaves))
        hash(key)
    except TypeError:  # sizes that are not known have no hash
        return None
    return key


def _inputs(graph: Graph) -> Iterator[Node]:
    return (node for node in graph.nodes if node.op == "placeholder")


def _nearest(graph: Graph, is_backward: bool) -> dict[_Mark, Node]:
    """Of each event that this graph has a value of, the nearest mark and its last node.

    A forward value that the backward graph computes once more is not recorded there.
    """
    best: dict[tuple[Plan, int], tuple[_Mark, Node]] = {}
    for node in graph.nodes:
        for mark in (node.meta.get("custom") or {}).get(_KEY, ()):
            note = mark.plan.events[mark.event].note
            if (note.kind == "gradient") != is_backward or not _has_form(node, note, mark):
                continue
            known = best.get((mark.plan, mark.event))
            if known is None or mark.distance <= known[0].distance:
                best[mark.plan, mark.event] = mark, node
    return dict(best.values())


def _has_form(node: Node, note: Note, mark: _Mark) -> bool:
    """Whether a node's value can be that of the note: passes hand marks on to all new nodes."""
    seen = node.meta.get("val")
    if not isinstance(seen, torch.Tensor) or seen.dtype != note.dtype:
        return False
    if note.shape is None:
        return mark.distance == 0
    if mark.distance == 0:
        return tuple(seen.shape) == note.shape
    return seen.numel() == torch.Size(note.shape).numel()


def _place_owners(graph: Graph, plan: Plan) -> None:
    inputs = {node.name: node for node in _inputs(graph)}
    with graph.inserting_after(next(reversed(inputs.values()))):
        for at, name in enumerate(plan.owners):
            if name in inputs:
                number = _number_of(LateSite(plan, owner=at))
                graph.call_function(torch.ops.msprobe.owner.default, (inputs[name], number))


def _number_of(site: LateSite) -> int:
    LATE_SITES.append(site)
    return len(LATE_SITES) - 1
