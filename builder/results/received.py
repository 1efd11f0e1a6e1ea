"""Calls by which a difference came into a step and rank from another: what they put in agrees."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec
import numpy as np
from sqlalchemy import Engine, select

from builder.results.records import Node
from builder.results.schema import communication
from builder.results.side_nodes import SideNodes


class Received(msgspec.Struct, frozen=True, gc=False):
    """A call, and the call of another rank whose inputs differ that it gets something from."""

    node: int
    peer_rank: int
    peer_node: int
    peer_name: str


class _Opened(Protocol):
    """What is asked of the file."""

    @property
    def threshold(self) -> float:
        """The score above which a value diverges."""

    def nodes_by_id(self, ids: Iterable[int]) -> list[Node]:
        """The nodes with these ids."""


def received(file: _Opened, engine: Engine, side: SideNodes) -> list[Received]:
    """The calls by which a difference came in, in execution order, each with its worst peer."""
    if not len(side):
        return []
    threshold = file.threshold
    came = (side.score > threshold) & ~(side.input_score > threshold)
    order = {int(side.id[at]): int(side.order[at]) for at in np.flatnonzero(came).tolist()}
    query = select(communication.c.node, communication.c.peer_rank, communication.c.peer_node)
    first, last = int(side.id.min()), int(side.id.max())
    with engine.connect() as connection:
        links = connection.execute(query.where(communication.c.node.between(first, last))).all()
    known = [link for link in links if link.node in order and link.peer_node is not None]
    peers = {node.id: node for node in file.nodes_by_id({link.peer_node for link in known})}
    worst: dict[int, tuple[float, Received]] = {}
    for link in known:
        peer = peers.get(link.peer_node)
        score = peer.input_score if peer is not None else None
        if peer is None or score is None or score <= threshold:
            continue
        if link.node not in worst or worst[link.node][0] < score:
            worst[link.node] = score, Received(link.node, link.peer_rank, peer.id, peer.name)
    return [worst[node][1] for node in sorted(worst, key=lambda one: order[one])]
