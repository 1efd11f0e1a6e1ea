"""What boxes and rows show of values: shapes, dtypes and norms, a window of them at a time."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import false, select

from builder.results.records import FirstOutput, UnmadeInput
from builder.results.schema import flow, form, node, record, value
from builder.results.stored_file import LARGEST, MOST_PARAMETERS, StoredFile
from builder.results.value_measures import measure_of
from builder.results.value_pairs import shape_of


def first_outputs(stored: StoredFile, ids: Sequence[int]) -> dict[int, FirstOutput]:
    """What nodes put out first, by their ids."""
    columns = value.c.node, value.c.shape, value.c.dtype, value.c.norm
    found: dict[int, FirstOutput] = {}
    for engine, part in stored.by_volume([id_ for id_ in ids if id_ <= LARGEST]):
        wanted = value.c.node.in_(part[:MOST_PARAMETERS]), value.c.role == "output"
        with engine.connect() as connection:
            for row in connection.execute(select(*columns).where(*wanted).order_by(value.c.id)):
                found.setdefault(row.node, _shown(row.shape, row.dtype, row.norm))
    return found


def seen_values(stored: StoredFile, values: Sequence[int]) -> dict[int, FirstOutput]:
    """What values are, by their ids, all of one volume."""
    # Not by `value`, which looks through all nodes for the one that a value belongs to.
    joined = record.join(form, form.c.id == record.c.form)
    columns = record.c.id, form.c.shape, form.c.dtype, record.c.norm
    wanted = [id_ for id_ in values if id_ <= LARGEST][:MOST_PARAMETERS]
    if not wanted:
        return {}
    with stored.engine_at(wanted[0]).connect() as connection:
        query = select(*columns).select_from(joined).where(record.c.id.in_(wanted))
        rows = connection.execute(query).all()
    return {row.id: _shown(row.shape, row.dtype, row.norm) for row in rows}


def _shown(shape: str | None, dtype: str | None, norm: float | str | None) -> FirstOutput:
    return FirstOutput(shape_of(shape), dtype, measure_of(norm))


def parameter_shapes(
    stored: StoredFile, ids: Sequence[int]
) -> dict[int, tuple[tuple[int, ...], ...]]:
    """The shapes of the parameters that modules have themselves, sorted; none left out."""
    found: dict[int, list[tuple[int, ...]]] = {}
    columns, is_own = (value.c.node, value.c.shape), value.c.role == "parameters"
    for engine, part in stored.in_parts(ids):
        with engine.connect() as connection:
            for row in connection.execute(select(*columns).where(value.c.node.in_(part), is_own)):
                found.setdefault(row.node, []).append(tuple(shape_of(row.shape) or ()))
    return {id_: tuple(sorted(shapes)) for id_, shapes in found.items()}


def without_values(stored: StoredFile, ids: Sequence[int]) -> frozenset[int]:
    """Which of these nodes are calls of which nothing but the name was recorded."""
    found: set[int] = set()
    for engine, part in stored.by_volume([id_ for id_ in ids if id_ <= LARGEST]):
        wanted = node.c.id.in_(part[:MOST_PARAMETERS]), node.c.kind == "api"
        with engine.connect() as connection:
            query = select(node.c.id).where(*wanted, node.c.value_count == 0)
            found.update(connection.scalars(query))
    return frozenset(found)


def unmade_inputs(stored: StoredFile, ids: Sequence[int]) -> dict[int, list[UnmadeInput]]:
    """The tensors that nodes read and no call is known to put out, by the nodes' ids.

    Weights that a call is given as arguments are left out: they require gradients.
    """
    columns = value.c.id, value.c.node, value.c.path, value.c.shape, value.c.dtype, value.c.norm
    wanted = value.c.role == "input", value.c.shape.is_not(None)
    is_plain = value.c.requires_grad.is_(None) | (value.c.requires_grad == 0)
    made = value.c.id.in_(select(flow.c.value)) if stored.has_flow else false()
    found: dict[int, list[UnmadeInput]] = {}
    for engine, part in stored.in_parts(ids):
        query = select(*columns).where(value.c.node.in_(part), *wanted, is_plain, ~made)
        with engine.connect() as connection:
            for row in connection.execute(query.order_by(value.c.path)):
                tensor = _shown(row.shape, row.dtype, row.norm)
                found.setdefault(row.node, []).append(UnmadeInput(row.id, row.path, tensor))
    return found
