"""How far apart each token is in the values of a node: cells by request and position."""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import Connection, Row, inspect, select

from builder.errors import DatabaseError
from builder.results.database import ResultDatabase
from builder.results.reading import Results
from builder.results.records import Count, Role
from builder.results.schema import token_cell, token_line, value
from builder.write.tables import NO_SCORE, WORST_SCORE


class TokenPlace(msgspec.Struct, frozen=True):
    """One token: `request` counts the sequences, `position` the tokens in it, both from 0."""

    request: int
    position: int


class TokenCell(msgspec.Struct, frozen=True):
    """Tokens behind one another, by request and position."""

    first: TokenPlace
    last: TokenPlace
    tokens: Count


class TokenLine(msgspec.Struct, frozen=True):
    """One value: the worst score of each cell, None where no token of it has numbers.

    `first` is the first token that is apart in the order in which they were computed; of `tokens`
    with numbers as many are `apart`.
    """

    value: int
    role: Role
    path: str
    scores: list[float | None]
    first: TokenPlace | None
    apart: Count
    tokens: Count


class NodeTokens(msgspec.Struct, frozen=True):
    """The values of a node whose tokens were aligned; none where they were not."""

    cells: list[TokenCell]
    lines: list[TokenLine]


def node_tokens(results: Results, id_: int) -> NodeTokens:
    """The lines over tokens of a node of the problem; none in files that lack them.

    Raises UnknownNodeError for a node that the file does not have, DatabaseError for rows of
    another form.
    """
    results.node(id_)
    if not isinstance(results, ResultDatabase):
        return NodeTokens([], [])
    tables = inspect(results.stored.engine)
    if not all(tables.has_table(table.name) for table in (token_cell, token_line)):
        return NodeTokens([], [])  # a file of an earlier release
    with results.stored.engine_at(id_).connect() as connection:
        return _read(connection, id_)


def _read(connection: Connection, id_: int) -> NodeTokens:
    columns = value.c.role, value.c.path
    joined = token_line.join(value, value.c.id == token_line.c.value)
    query = select(token_line, *columns).select_from(joined).where(token_line.c.node == id_)
    lines = list(connection.execute(query.order_by(token_line.c.value)))
    if not lines:
        return NodeTokens([], [])
    of_graph = select(token_cell).where(token_cell.c.graph == lines[0].graph)
    cells = connection.execute(of_graph.order_by(token_cell.c.cell))
    try:
        return NodeTokens([_cell(row) for row in cells], [_line(row) for row in lines])
    except (TypeError, ValueError) as error:  # a file may come from anywhere
        again = "build the comparison again"
        raise DatabaseError(f"table token_line: {error}", again) from None


def _cell(row: Row[Any]) -> TokenCell:
    first = TokenPlace(int(row.request), int(row.position))
    last = TokenPlace(int(row.last_request), int(row.last_position))
    return TokenCell(first, last, int(row.tokens))


def _line(row: Row[Any]) -> TokenLine:
    if not isinstance(row.scores, bytes):
        raise TypeError(f"scores of value {row.value} are no bytes")
    first = None if row.request is None else TokenPlace(int(row.request), int(row.position))
    return TokenLine(
        value=row.value,
        role=row.role,
        path=row.path,
        scores=[None if byte == NO_SCORE else byte / WORST_SCORE for byte in row.scores],
        first=first,
        apart=int(row.apart),
        tokens=int(row.tokens),
    )
