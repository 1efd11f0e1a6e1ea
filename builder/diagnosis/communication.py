"""Links communication calls between ranks: collectives per group, sends with their receives.

The n-th collective of a group on one rank belongs to the n-th on every other; the n-th send from a
to b belongs to the n-th receive of b from a. What has no partner, or another name, is a finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from builder.dump.values import Record
from builder.match.tree import Tree, TreeNode
from builder.reasons import CollectiveOrder, PartnerMissing
from msprobe_core.format import COMMUNICATION

_SENDS = ("send", "isend")
_RECEIVES = ("recv", "irecv")
_BATCH = "batch_isend_irecv"
# Calls that talk to nobody: queries, set-up, and waiting for what was started before.
_SILENT = (
    "get_rank",
    "get_world_size",
    "new_group",
    "init_process_group",
    "wait",
    "is_initialized",
)


@dataclass(frozen=True, slots=True)
class Message:
    """One part of a communication call; `group` of None is the default group.

    `node` is the call's id in the database, `order` sorts it among the nodes of its rank; it
    `differs` where what the call reads is not what the benchmark's call reads.
    """

    node: int
    name: str
    order: tuple[int, int]
    kind: Literal["collective", "send", "recv"]
    api: str
    group: tuple[int, ...] | None
    peer: int | None
    differs: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A call and the rank it talks to; `peer_node` of None says that the partner is missing.

    What the partner reads is not what the benchmark's reads where the `peer_differs`.
    """

    node: int
    peer_rank: int
    peer_node: int | None
    kind: str
    peer_differs: bool = False


@dataclass(frozen=True, slots=True)
class Discord:
    """A place where the ranks of one step do not fit together."""

    rank: int
    message: Message
    reason: PartnerMissing | CollectiveOrder


def messages(tree: Tree, id_of: Callable[[TreeNode], int]) -> Iterator[Message]:
    """The messages of one rank's dump in execution order."""
    for node in tree.in_order:
        if talks_to_ranks(node) and node.entry is not None:
            yield from _messages_of(tree, node, id_of(node), node.entry.type_name)


def talks_to_ranks(node: TreeNode) -> bool:
    """Whether a node is a call that gives something to other ranks or takes it from them."""
    entry = node.entry
    if entry is None or entry.prefix not in COMMUNICATION or node.direction != "forward":
        return False
    return entry.type_name not in _SILENT


def link(ranks: Mapping[int, Iterable[Message]]) -> tuple[list[Link], list[Discord]]:
    """Link the messages of all ranks of one step; ranks that were not dumped are left out."""
    known = frozenset(ranks)
    queues: dict[tuple[object, ...], dict[int, list[Message]]] = {}
    for rank, own in ranks.items():
        for message in own:
            queues.setdefault(_channel(rank, message, known), {}).setdefault(rank, []).append(
                message
            )
    links: list[Link] = []
    discords: list[Discord] = []
    for channel, queue in queues.items():
        parties = [rank for rank in _parties(channel) if rank in known]
        for rank, own in queue.items():
            _link_rank(rank, own, queue, parties, links, discords)
    return links, discords


def _messages_of(tree: Tree, node: TreeNode, node_id: int, api: str) -> Iterator[Message]:
    inputs = dict(_inputs(tree, node))
    place = node.in_step
    group = next((tuple(r.group_ranks) for r in inputs.values() if r.group_ranks), None)
    if api == _BATCH:
        # Each operation of the batch is a record of its own: input.0.<n>.op and .peer.
        for key, record in inputs.items():
            if key.endswith(".op"):
                kind: Literal["send", "recv"] = "send" if "send" in str(record.value) else "recv"
                other = _int(inputs.get(key.removesuffix("op") + "peer"))
                yield Message(node_id, node.name, place, kind, api, None, other)
    elif api in _SENDS:
        peer = _peer(inputs, "dst", group)
        yield Message(node_id, node.name, place, "send", api, None, peer)
    elif api in _RECEIVES:
        peer = _peer(inputs, "src", group)
        yield Message(node_id, node.name, place, "recv", api, None, peer)
    else:
        yield Message(node_id, node.name, place, "collective", api, group, None)


def _inputs(tree: Tree, node: TreeNode) -> Iterator[tuple[str, Record]]:
    values = tree.dump.values
    for index in range(*node.values):
        if values.keys[index].startswith("input."):
            yield values.keys[index].removeprefix("input."), values.records[index]


def _peer(inputs: Mapping[str, Record], name: str, group: tuple[int, ...] | None) -> int | None:
    local = _int(inputs.get(f"group_{name}"))
    if local is not None and group is not None and local < len(group):
        return group[local]
    return _int(inputs.get(name) or inputs.get("1"))


def _int(record: Record | None) -> int | None:
    return record.value if record is not None and isinstance(record.value, int) else None


def _channel(rank: int, message: Message, known: frozenset[int]) -> tuple[object, ...]:
    # A batch meets a batch: counted apart, a lost single receive does not shift them.
    way = "batch" if message.api == _BATCH else "p2p"
    if message.kind == "send":
        return (way, rank, message.peer)
    if message.kind == "recv":
        return (way, message.peer, rank)
    return ("group", *(message.group if message.group is not None else sorted(known)))


def _parties(channel: tuple[object, ...]) -> list[int]:
    return [rank for rank in channel[1:] if isinstance(rank, int)]


def _link_rank(
    rank: int,
    own: list[Message],
    queue: Mapping[int, list[Message]],
    parties: list[int],
    links: list[Link],
    discords: list[Discord],
) -> None:
    for number, message in enumerate(own):
        for other in parties:
            if other == rank:
                continue
            theirs = queue.get(other, [])
            partner = theirs[number] if number < len(theirs) else None
            links.append(_link(message, other, partner))
            if partner is None:
                discords.append(Discord(rank, message, PartnerMissing(message.api, other)))
            elif message.kind == "collective" and partner.api != message.api:
                reason = CollectiveOrder(message.api, partner.api, other)
                discords.append(Discord(rank, message, reason))
                return


def _link(message: Message, rank: int, partner: Message | None) -> Link:
    if partner is None:
        return Link(message.node, rank, None, message.kind)
    return Link(message.node, rank, partner.node, message.kind, partner.differs)


def gathers(node: TreeNode) -> bool:
    """Whether a call puts together what the ranks of a group have each."""
    entry = node.entry
    return entry is not None and entry.prefix in COMMUNICATION and "gather" in entry.type_name
