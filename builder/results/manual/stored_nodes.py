"""Reads nodes back as the builder had them: subtrees with their values, to be matched anew."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, func, select

from builder.dump.reader import Dump
from builder.dump.values import Values
from builder.match.tree import Tree, TreeNode, make_node
from builder.results.manual.measured_pair import StoredNode, StoredValue
from builder.results.schema import graph, node, stack, value
from builder.results.value_pairs import record_of
from builder.storage.path_text import text_path
from msprobe_core.format import NameSyntaxError, parse_entry

_CHUNK = 900


@dataclass(frozen=True, slots=True)
class StoredTree:
    """A subtree as the matching takes it; `rows` holds the table row of each of its nodes."""

    tree: Tree
    rows: dict[TreeNode, Row[Any]]


def find_nodes(connection: Connection, graph_id: int, names: Iterable[str]) -> dict[str, Row[Any]]:
    """The rows of the nodes of a graph that have one of these names."""
    # As one JSON text: the names of a large subtree are more than a statement takes parameters.
    wanted = func.json_each(json.dumps(list(names))).table_valued("value")
    root = select(graph.c.root).where(graph.c.id == graph_id).scalar_subquery()
    top = node.alias("top")
    last = select(top.c.last).where(top.c.id == root).scalar_subquery()
    # By the range of ids: through the index over graphs every row would be looked up alone.
    inside = node.c.id.between(root, last), node.c.graph + 0 == graph_id
    query = select(node).where(*inside, node.c.name.in_(select(wanted.c.value)))
    return {row.name: row for row in connection.execute(query)}


def following(name: str) -> tuple[str, ...]:
    """The names of what goes with a forward node wherever it goes: its backward, its gradients."""
    try:
        entry = parse_entry(name)
    except NameSyntaxError:
        return ()
    if entry.direction != "forward":
        return ()
    gradients = f"{entry.owner}.parameters_grad"
    return entry.twin("backward"), f"{gradients}.{entry.call or 0}", gradients


def rows_with_ancestors(connection: Connection, ids: Sequence[int]) -> dict[int, Row[Any]]:
    """The rows of nodes and of everything above them, by id."""
    by_id: dict[int, Row[Any]] = {}
    missing = set(ids)
    while missing:
        part = list(missing)[:_CHUNK]
        rows = connection.execute(select(node).where(node.c.id.in_(part))).all()
        by_id |= {row.id: row for row in rows}
        missing -= set(part)
        missing |= {r.parent for r in rows if r.parent is not None and r.parent not in by_id}
    return by_id


def subtree_size(row: Row[Any]) -> int:
    """How many nodes a subtree has, its top included; ids run in pre-order."""
    return int(row.last) - int(row.id) + 1


def read_subtree(connection: Connection, top: Row[Any], *, below: bool) -> StoredTree:
    """The call tree from a node on down, or that node alone."""
    last = top.last if below else top.id
    inside = node.c.id.between(top.id, last)
    rows = connection.execute(select(node).where(inside).order_by(node.c.id)).all()
    dump = _dump(connection, rows, top)
    nodes: dict[int, TreeNode] = {}
    for row in rows:
        made = make_node(dump, row.name, float(row.position))
        made.recomputed = bool(row.recomputed)
        made.exec_order = row.exec_order
        made.parent = nodes.get(row.parent)
        if made.parent is not None:
            made.parent.children.append(made)
        nodes[row.id] = made
    in_order = sorted(nodes.values(), key=lambda n: n.exec_order)
    for order, made in enumerate(in_order):
        made.exec_order = order
    _give_backward(connection, dump, list(nodes.values()), top.graph)
    by_name = {made.name: made for made in nodes.values()}
    tree = Tree(dump, nodes[top.id], by_name, in_order)
    return StoredTree(tree, {nodes[row.id]: row for row in rows})


def _give_backward(
    connection: Connection, dump: Dump, nodes: Sequence[TreeNode], graph_id: int
) -> None:
    """Tell calls that have a backward pass, which lies elsewhere: it tells two alike apart."""
    twins = {
        node.entry.twin("backward"): node
        for node in nodes
        if node.entry is not None and node.direction == "forward" and node.backward is None
    }
    for name in find_nodes(connection, graph_id, twins):
        twins[name].backward = make_node(dump, name, 0.0)


def stored_nodes(
    connection: Connection, rows: Sequence[Row[Any]], graphs: Mapping[int, Row[Any]], task: str
) -> dict[int, StoredNode]:
    """Nodes with their values by id, as `builder.results.manual.measured_pair` measures them.

    `graphs` are those that they are of, by id.
    """
    values: dict[int, list[StoredValue]] = {row.id: [] for row in rows}
    for start in range(0, len(rows), _CHUNK):
        part = [row.id for row in rows[start : start + _CHUNK]]
        query = select(value).where(value.c.node.in_(part)).order_by(value.c.node, value.c.id)
        for v in connection.execute(query):
            key = f"{v.role}.{v.path}" if v.path else v.role
            values[v.node].append(StoredValue(v.id, key, record_of(v)))
    found = {}
    for row in rows:
        of = graphs[row.graph]
        folder = text_path(of.dump_dir or "")
        found[row.id] = StoredNode(
            row.name, values[row.id], task, folder, of.precision or "float32"
        )
    return found


def _dump(connection: Connection, rows: Sequence[Row[Any]], top: Row[Any]) -> Dump:
    names = {row.id: row.name for row in rows}
    values = Values()
    ranges: dict[str, tuple[int, int]] = {}
    inside = value.c.node.between(rows[0].id, rows[-1].id)
    for row in connection.execute(select(value).where(inside).order_by(value.c.node, value.c.id)):
        name = names[row.node]
        start = ranges.get(name, (len(values.keys), 0))[0]
        values.keys.append(f"{row.role}.{row.path}" if row.path else row.role)
        values.records.append(record_of(row))
        ranges[name] = (start, len(values.keys))
    owner = connection.execute(select(graph).where(graph.c.id == top.graph)).one()
    folder = text_path(owner.dump_dir or "")
    stacks, frames = _stacks(connection, rows)
    return Dump(
        path=folder,
        task="",
        level=owner.level or "",
        framework=owner.framework or "",
        values=values,
        ranges=ranges,
        parents={},
        micro_steps={},
        stacks=stacks,
        frames=frames,
    )


def _stacks(connection: Connection, rows: Sequence[Row[Any]]) -> tuple[dict[str, int], list[str]]:
    """Where the nodes were called, as a dump has it: by name the place in the texts."""
    ids = sorted({row.stack for row in rows if row.stack is not None})
    texts: dict[int, str] = {}
    for start in range(0, len(ids), _CHUNK):
        query = select(stack).where(stack.c.id.in_(ids[start : start + _CHUNK]))
        texts |= {row.id: row.text for row in connection.execute(query)}
    place = {id_: index for index, id_ in enumerate(texts)}
    return {row.name: place[row.stack] for row in rows if row.stack in place}, list(texts.values())
