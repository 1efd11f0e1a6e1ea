"""Values and stacks of nodes in msprobe's own files, read from their rows when asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, text

from builder.results.msprobe.flow import Cells
from builder.results.msprobe.graph import listed
from builder.results.msprobe.node_values import cells_of
from builder.results.records import Node


def inputs_and_outputs(
    connection: Connection, ids: Sequence[int]
) -> tuple[dict[int, Cells], dict[int, Cells]]:
    """The inputs and outputs of nodes by their ids; ids of one side are close together."""
    wanted = set(ids)
    query = text(
        "SELECT rowid, input_data, output_data FROM tb_nodes WHERE rowid BETWEEN :a AND :b"
    )
    given = {"a": min(ids, default=0), "b": max(ids, default=-1)}
    rows = [row for row in connection.execute(query, given) if row[0] in wanted]
    return {row[0]: cells_of(row[1]) for row in rows}, {row[0]: cells_of(row[2]) for row in rows}


def values_of(connection: Connection, node: Node | None) -> dict[str, Any]:
    """The inputs and outputs of a node by their full names; nothing of no node."""
    if node is None:
        return {}
    query = text("SELECT input_data, output_data FROM tb_nodes WHERE rowid = :id")
    inputs, outputs = connection.execute(query, {"id": node.id}).one()
    return cells_of(inputs) | cells_of(outputs)


def stack_of(connection: Connection, node: Node | None) -> list[str] | None:
    """The call stack of a node, one frame a line."""
    if node is None:
        return None
    query = text(
        "SELECT stack_info FROM tb_stack JOIN tb_nodes ON tb_stack.id = tb_nodes.stack_id "
        "WHERE tb_nodes.rowid = :id"
    )
    frames = listed(connection.execute(query, {"id": node.id}).scalar())
    return [" ".join(str(frame).split()) for frame in frames] or None
