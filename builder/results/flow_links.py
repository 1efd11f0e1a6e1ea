"""What fed one node and what it fed, as a result database stores it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Engine, Join, Row, Select, select

from builder.results.equal_numbers import key_of
from builder.results.records import FlowLink, Node, NodeFlow, Passed
from builder.results.schema import flow, form, record

NodesById = Callable[[Iterable[int]], list[Node]]
_MOST_LINKS = 2_000  # a rotary table is read by every layer
_AT_ONCE = 8_192


@dataclass(slots=True)
class PlacedLinks:
    """What passed between nodes, by link: `path` is the place in `paths` of where it was read."""

    producer: list[int] = field(default_factory=list)
    consumer: list[int] = field(default_factory=list)
    value: list[int] = field(default_factory=list)
    exact: list[int] = field(default_factory=list)
    path: list[int] = field(default_factory=list)
    paths: dict[str, int] = field(default_factory=dict)


def flow_of(id_: int, engine: Engine, nodes_by_id: NodesById) -> NodeFlow:
    """The links of a node; `engine` sees what lies around it."""
    producers = _links(engine, flow.c.consumer == id_, flow.c.producer, nodes_by_id)
    consumers = _links(engine, flow.c.producer == id_, flow.c.consumer, nodes_by_id)
    return NodeFlow(producers, consumers)


def links_into(engine: Engine, first: int, last: int, found: PlacedLinks) -> None:
    """Add all that the nodes between two ids read, as `flow_of` has it of one."""
    columns = flow.c.producer, flow.c.consumer, flow.c.value, flow.c.exact
    query = select(*columns, form.c.path).select_from(_read())
    with engine.connect() as connection:
        for start in range(first, last + 1, _AT_ONCE):
            window = flow.c.consumer.between(start, min(last, start + _AT_ONCE - 1))
            for producer, consumer, value, exact, path in connection.execute(query.where(window)):
                found.producer.append(producer)
                found.consumer.append(consumer)
                found.value.append(value)
                found.exact.append(int(bool(exact)))
                found.path.append(found.paths.setdefault(path, len(found.paths)))


def passed_between(
    consumers: Sequence[int], producers: Sequence[int], engine: Engine
) -> Passed | None:
    """The worst value that passed from some nodes to some; None where nothing did."""
    near = flow.c.consumer.in_(consumers), flow.c.producer.in_(producers)
    with engine.connect() as connection:
        row = connection.execute(_passing().where(*near)).first()
    return None if row is None else _passed(row)


def _passing() -> Select[Any]:
    """What passed, the worst value first."""
    read, made, output = form.alias(), form.alias(), record.alias()
    joined = flow.join(record, record.c.id == flow.c.value).join(read, read.c.id == record.c.form)
    joined = joined.outerjoin(output, output.c.id == flow.c.output)
    joined = joined.outerjoin(made, made.c.id == output.c.form)
    columns = (
        *(flow.c.exact, read.c.role, read.c.path),
        *(made.c.role.label("made"), made.c.path.label("made_path")),
    )
    query = select(*columns).select_from(joined)
    return query.order_by(record.c.score.desc(), flow.c.value)


def _passed(row: Row[Any]) -> Passed:
    output_key = None if row.made is None else key_of(row.made, row.made_path)
    return Passed(key_of(row.role, row.path), output_key, bool(row.exact))


def passed_everywhere(engine: Engine) -> dict[tuple[int, int], tuple[int, Passed]]:
    """What `passed_between` says of each reader and maker, with its place among all, worst first.

    Of several readers or makers it is the one with the least place.
    """
    found: dict[tuple[int, int], tuple[int, Passed]] = {}
    query = _passing().add_columns(flow.c.consumer, flow.c.producer)
    with engine.connect() as connection:
        for place, row in enumerate(connection.execute(query)):
            found.setdefault((row.consumer, row.producer), (place, _passed(row)))
    return found


def _read() -> Join:
    """Each link with the value as its reader was given it."""
    joined = flow.join(record, record.c.id == flow.c.value)
    return joined.join(form, form.c.id == record.c.form)


def _links(
    engine: Engine, near: ColumnElement[bool], far: ColumnElement[int], nodes_by_id: NodesById
) -> list[FlowLink]:
    query = select(far.label("far"), form.c.path, flow.c.value, flow.c.exact)
    query = query.select_from(_read()).where(near).order_by(far, flow.c.value)
    with engine.connect() as connection:
        rows = connection.execute(query.limit(_MOST_LINKS)).all()
    nodes = {n.id: n for n in nodes_by_id({row.far for row in rows})}
    links = [
        FlowLink(nodes[row.far], row.path, row.value, bool(row.exact))
        for row in rows
        if row.far in nodes
    ]
    return sorted(links, key=lambda link: (link.node.order, link.value))
