"""Autograd's graph as the gradient hooks see it: edges of tensors, keys of nodes, and a walk.

A key names a node without holding it: a hook that held the node that it sits on would keep the
whole graph for ever, as no collector sees through torch's own objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import fields, is_dataclass
from typing import NamedTuple

import torch
from torch._C import _functorch
from torch.autograd.graph import Node

from msprobe_core.torch.measure.users_modes import users_modes_off
from msprobe_core.torch.watch import long_graphs

Edge = tuple[Node, int]
Key = tuple[int, int]
"""A node, by `node_key`, and the number of one of its inputs: where a gradient goes."""
_ACCUMULATE = 2**63
"""Nodes of leaves carry the largest number there is; they lead nowhere."""
_DEEPEST = 12


class Consumer(NamedTuple):
    """A node that sends a gradient to a key: the number of what it sends, when it was made."""

    node: Node
    number: int
    made: int


def edge_of(value: object) -> Edge | None:
    """Where the gradient of a tensor goes: a node and the number of its input; None without."""
    if not isinstance(value, torch.Tensor) or not value.requires_grad:
        return None
    node = node_of(value)
    if node is not None:
        return node, value.output_nr
    if not torch.is_grad_enabled():
        return None
    return _edge_of_leaf(value)


def _edge_of_leaf(leaf: torch.Tensor) -> Edge | None:
    """Torch makes a view to find it, which has to happen below the transforms inside the leaf's
    own: above, a leaf is a constant. None where torch knows no node all the same.
    """
    level = _functorch.maybe_get_level(leaf)
    with ExitStack() as left:
        left.enter_context(users_modes_off(keep_transforms=level >= 0))
        while level >= 0 and (top := _functorch.peek_interpreter_stack()) and top.level() > level:
            left.callback(_functorch.push_dynamic_layer_stack, _functorch.pop_dynamic_layer_stack())
        with torch.enable_grad():
            made = leaf.view_as(leaf).grad_fn
    return (made.next_functions[0][0], 0) if made and made.next_functions[0][0] else None


def node_of(tensor: torch.Tensor) -> Node | None:
    """The node that made a tensor; None for leaves."""
    try:
        return tensor.grad_fn
    except RuntimeError:  # a view whose base changed where no gradients are kept has none
        return None


def node_key(node: Node) -> int:
    """The number of a node in the order of making; of a leaf, a number of its tensor."""
    made = node._sequence_nr()
    if made < _ACCUMULATE:
        return made
    return -id(getattr(node, "variable", node))


def key_of(edge: Edge) -> Key:
    """The key of an edge."""
    return node_key(edge[0]), edge[1]


def now() -> int:
    """The number that the next node will get."""
    return int(torch.autograd._get_sequence_nr())  # type: ignore[attr-defined]  # torch's stubs lack it


class Sender(NamedTuple):
    """A node inside a module that sends to some of the module's inputs or outputs.

    `sends` are pairs: the position of the input, and the number of what the node sends to it.
    """

    node: Node
    sends: list[tuple[int, int]]


def inner_nodes(
    nodes: Iterable[Node], start: int, inputs: list[Edge | None]
) -> tuple[list[Sender], set[Key]]:
    """What nodes made since `start` send to the inputs, and all the keys that they send to."""
    wanted: dict[Edge, list[int]] = {}
    for at, edge in enumerate(inputs):
        if edge is not None:
            wanted.setdefault(edge, []).append(at)
    senders: list[Sender] = []
    keys: set[Key] = set()
    seen: set[Node] = set()
    todo = [node for node in nodes if node._sequence_nr() >= start]
    while todo:
        node = todo.pop()
        if node in seen or node._sequence_nr() >= _ACCUMULATE:
            continue
        seen.add(node)
        long_graphs.seen(node)
        sends: list[tuple[int, int]] = []
        for number, (target, slot) in enumerate(node.next_functions):
            if target is None:
                continue
            made = target._sequence_nr()
            keys.add((made if made < _ACCUMULATE else node_key(target), slot))
            sends.extend((at, number) for at in wanted.get((target, slot), ()))
            if start <= made < _ACCUMULATE and target not in seen:
                todo.append(target)
        if sends:
            senders.append(Sender(node, sends))
    return senders, keys


def survey(roots: Iterable[Edge], wanted: set[Key]) -> tuple[dict[Key, list[Consumer]], set[int]]:
    """Who sends to the wanted keys in the graph below the roots, and the keys of its nodes."""
    consumers: dict[Key, list[Consumer]] = {}
    reached: set[int] = set()
    seen: set[Node] = set()
    todo = [node for node, _ in roots]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        long_graphs.seen(node)
        made = node_key(node)
        reached.add(made)
        for number, (target, slot) in enumerate(node.next_functions):
            if target is None:
                continue
            key = (node_key(target), slot)
            if key in wanted:
                consumers.setdefault(key, []).append(Consumer(node, number, made))
            if target not in seen:
                todo.append(target)
    return consumers, reached


def tensors_in(value: object, depth: int = 0) -> Iterator[object]:
    """The tensors of a result in order, containers opened; None for what is no tensor in them."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth < _DEEPEST and isinstance(members := members_of(value), list):
        for _, member in members:
            tensors = list(tensors_in(member, depth + 1))
            yield from tensors or ([None] if isinstance(value, (tuple, list)) else [])


def members_of(value: object) -> list[tuple[str, object]] | None:
    """The members of a container with their keys; None for what is none."""
    if isinstance(value, Mapping):
        return [(str(key), member) for key, member in value.items()]
    if isinstance(value, (tuple, list)):
        return [(str(at), member) for at, member in enumerate(value)]
    if is_dataclass(value) and not isinstance(value, type):
        return [(field.name, getattr(value, field.name, None)) for field in fields(value)]
    return None
