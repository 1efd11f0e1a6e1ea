"""All that is known of nodes, read for many at once: a query for each takes milliseconds.

A node's values, stacks and links lie in the part of the file that holds the node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from sqlalchemy import Row, select

from builder.results.manual.measured_pair import MeasuredValue
from builder.results.records import CommunicationLink, Node, NodeDetails, Stacks, ValuePair
from builder.results.schema import communication, node, stack, value
from builder.results.stored_cells import cells_by_id
from builder.results.stored_file import MOST_PARAMETERS, StoredFile
from builder.results.stored_rows import with_measures
from builder.results.value_pairs import pair_all

if TYPE_CHECKING:
    from builder.results.database import ResultDatabase

NodePair: TypeAlias = tuple[Node | None, Node | None]
"""A node of the problem and its partner; None where one run has none."""


def pairs_of(results: ResultDatabase, nodes: Sequence[Node]) -> list[NodePair]:
    """Each node with its partner, the problem's first."""
    matches = {n.match for n in nodes if n.match is not None}
    partners = {n.id: n for n in results.nodes_by_id(sorted(matches))}
    both = [(n, partners.get(n.match) if n.match is not None else None) for n in nodes]
    return [(own, other) if own.side == "problem" else (other, own) for own, other in both]


def details_of(
    results: ResultDatabase, stored: StoredFile, ids: Sequence[int]
) -> list[NodeDetails]:
    """What is known of each of some nodes; unknown ones are left out."""
    nodes = results.nodes_by_id(ids)
    pairs = pairs_of(results, nodes)
    values = values_of(stored, pairs, results.patches.values)
    stacks = stacks_of(stored, [one.id for pair in pairs for one in pair if one is not None])
    links = links_of(results, [own.id for own in nodes])
    alone = [own.id for own, pair in zip(nodes, pairs, strict=True) if None in pair]
    handed = results.handed_on(alone)
    return [
        NodeDetails(
            node=own,
            partner=pair[1] if own.side == "problem" else pair[0],
            values=told,
            stack=Stacks(*(stacks.get(one.id) if one is not None else None for one in pair)),
            communication=links.get(own.id, []),
            handed_on=handed.get(own.id),
        )
        for own, pair, told in zip(nodes, pairs, values, strict=True)
    ]


def values_of(
    stored: StoredFile,
    pairs: Sequence[NodePair],
    measured: Mapping[int, Sequence[MeasuredValue]],
) -> list[list[ValuePair]]:
    """The values of pairs of nodes side by side; `measured` are those of pairs made by hand."""
    rows: dict[int, list[Row[tuple[object, ...]]]] = {}
    ids = {one.id for pair in pairs for one in pair if one is not None}
    for engine, part in stored.in_parts(sorted(ids)):
        query = select(value).where(value.c.node.in_(part)).order_by(value.c.id)
        with engine.connect() as connection:
            for row in connection.execute(query):
                rows.setdefault(row.node, []).append(row)
    sides = [
        (
            rows.get(problem.id, []) if problem is not None else [],
            rows.get(benchmark.id, []) if benchmark is not None else [],
            measured.get(problem.id) if problem is not None else None,
        )
        for problem, benchmark in pairs
    ]
    told = zip(pair_all(sides), pairs, strict=True)
    return [with_measures(values, problem) for values, (problem, _) in told]


def stacks_of(stored: StoredFile, ids: Iterable[int]) -> dict[int, list[str]]:
    """The call stacks of nodes, innermost frame first; those without one are left out."""
    numbers = cells_by_id(stored, node.c.stack, ids)
    texts = stack_texts(stored, numbers)
    return {id_: texts[number] for id_, number in numbers.items() if texts.get(number)}


def stack_texts(stored: StoredFile, numbers: Mapping[int, int]) -> dict[int, list[str]]:
    """The frames of the stacks that nodes have, by the numbers of the stacks."""
    texts: dict[int, list[str]] = {}
    for engine, part in stored.in_parts(numbers):
        wanted = sorted({numbers[id_] for id_ in part} - texts.keys())
        query = select(stack.c.id, stack.c.text).where(stack.c.id.in_(wanted))
        with engine.connect() as connection:
            texts |= {row.id: row.text.splitlines() for row in connection.execute(query)}
    return texts


def links_of(results: ResultDatabase, ids: Sequence[int]) -> dict[int, list[CommunicationLink]]:
    """The communication partners of nodes as they fared; those without any are left out."""
    columns = communication.c.kind, communication.c.peer_rank, communication.c.peer_node
    query = select(communication.c.node, *columns)
    with results.stored.engine.connect() as connection:
        rows = [
            row
            for start in range(0, len(ids), MOST_PARAMETERS)
            for row in connection.execute(
                query.where(communication.c.node.in_(ids[start : start + MOST_PARAMETERS]))
            )
        ]
    peers = {n.id: n for n in results.nodes_by_id({r.peer_node for r in rows if r.peer_node})}
    links: dict[int, list[CommunicationLink]] = {}
    for row in rows:
        peer = peers.get(row.peer_node)
        fared = () if peer is None else (peer.input_score, peer.score)
        name = None if peer is None else peer.name
        link = CommunicationLink(row.kind, row.peer_rank, row.peer_node, name, *fared)
        links.setdefault(row.node, []).append(link)
    return links
