"""Autograd's graph as the gradient hooks see it: edges of tensors, and the nodes of one call.

A node has `_unique_id`, `_sequence_nr()`, `next_functions`, `register_prehook(fn(received))` and
`register_hook(fn(sent, received))`. A leaf's number is the largest there is; its hooks never fire.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mindspore import Tensor

LEAF = 2**63
"""Numbers from here on are those of leaves."""
_DEEPEST = 12
Key = tuple[int, int]
"""A node, by its number, and the number of one of its inputs: where a gradient goes."""


class Edge(NamedTuple):
    """Where the gradient of a tensor goes: a node, and which of what it receives that is.

    `key` is the same without holding the node.
    """

    node: Any
    slot: int
    key: Key


def node_id(node: Any) -> int:
    """The number that tells a node from others while it lives."""
    told = node._unique_id
    return int(told() if callable(told) else told)


def made_at(node: Any) -> int:
    """When a node was made, counted upwards; `LEAF` and more for a leaf."""
    return int(node._sequence_nr())


def is_leaf(node: Any) -> bool:
    """Whether a node stands for a tensor that no operator made."""
    return made_at(node) >= LEAF


def edge_of(value: object) -> Edge | None:
    """The edge of a floating tensor that has a gradient; None for others."""
    if not isinstance(value, Tensor):
        return None
    node = value._grad_node
    # Integers carry a node too.
    if node is None or not _has_gradient(str(value.dtype)):
        return None
    slot = int(value._output_index)
    return Edge(node, slot, (node_id(node), slot))


def _has_gradient(dtype: str) -> bool:
    return dtype.startswith(("Float", "BFloat", "Complex", "HiFloat"))


def tensors_in(value: object, depth: int = 0) -> Iterator[Tensor]:
    """The tensors of a value and of the containers in it, in order."""
    if isinstance(value, Tensor):
        yield value
    elif depth < _DEEPEST:
        members: Iterable[object] = ()
        if isinstance(value, Mapping):
            members = value.values()
        elif isinstance(value, (list, tuple)):
            members = value
        for member in members:
            yield from tensors_in(member, depth + 1)


@dataclass(frozen=True, slots=True)
class Sender:
    """A node of a call that sends gradients on to its inputs: (which input, which of its sends)."""

    node: Any
    sends: tuple[tuple[int, int], ...]


def senders_of(
    outputs: Sequence[Edge | None], inputs: Sequence[Edge | None], start: int
) -> list[Sender]:
    """The nodes made from `start` on, between a call's outputs and inputs, that send to inputs."""
    wanted: dict[Key, list[int]] = {}
    for at, edge in enumerate(inputs):
        if edge is not None:
            wanted.setdefault(edge.key, []).append(at)
    stop = {key[0] for key in wanted}
    found: list[Sender] = []
    pending = [edge.node for edge in outputs if edge is not None]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        number = node_id(node)
        if number in seen or not start <= made_at(node) < LEAF:
            continue
        seen.add(number)
        sends = []
        for slot, (target, index) in enumerate(node.next_functions):
            if target is None:
                continue
            below = node_id(target)
            sends += [(at, slot) for at in wanted.get((below, index), ())]
            if below not in stop:
                pending.append(target)
        if sends:
            found.append(Sender(node, tuple(sends)))
    return found
