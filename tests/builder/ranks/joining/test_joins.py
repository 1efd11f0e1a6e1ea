"""Cut any tensor by any composition of layouts, merge, and get it and its statistics back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from builder.dump.joined_tensors import Join, Variant, join_parts
from builder.ranks.joining.joined_statistics import bounds, disagreement, join_statistics, outside
from builder.ranks.joining.layouts import AxisLayout, candidates

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_AXES = ("tp", "cp", "dp")


def _cut(whole: Floats, join: Join, summands: Callable[[Floats], list[Floats]]) -> list[Floats]:
    """The parts of a value along one axis; the inverse of a join, written independently of it."""
    size, dim, variant = join.size, join.dim, join.variant
    if join.kind == "R":
        return [whole] * size
    if join.kind == "P":
        return summands(whole)
    if join.kind == "A":
        return [part * size for part in summands(whole)]
    if join.kind == "D":
        owner = np.arange(whole.size).reshape(whole.shape) % size
        return [np.where(owner == rank, whole, 0.0) for rank in range(size)]
    extent = whole.shape[dim]
    index = np.arange(extent).reshape(variant.rows, -1)
    parts = []
    for rank in range(size):
        if variant.zigzag:
            chunks = index.reshape(variant.rows, 2 * size, -1)
            own = chunks[:, [rank, 2 * size - 1 - rank]]
        else:
            own = np.concatenate([piece[:, rank] for piece in _pieces(index, variant, size)], 1)
        parts.append(np.take(whole, own.reshape(-1), axis=dim))
    return parts


def _pieces(index: Ints, variant: Variant, size: int) -> list[Ints]:
    """Places in each fused piece [rows, ranks, places]."""
    unit = index.shape[1] // sum(variant.pieces)
    split = np.split(index, np.cumsum(variant.pieces)[:-1] * unit, axis=1)
    return [piece.reshape(variant.rows, size, -1) for piece in split]


@st.composite
def _layouts(draw: st.DrawFn) -> tuple[tuple[Join, ...], tuple[int, ...]]:
    """Joins of up to three axes, innermost first, and a shape that they can cut."""
    shape = [draw(st.integers(1, 2)) for _ in range(draw(st.integers(1, 3)))]
    joins = []
    cut_dims: set[int] = set()
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from("RSPAD"))
        size = draw(st.integers(2, 3))
        dim = draw(st.integers(0, len(shape) - 1)) if kind == "S" else 0
        variant = Variant()
        if kind == "S" and dim not in cut_dims:
            # Only one axis may interleave a dimension.
            options = [
                Variant(),
                Variant(pieces=(1, 1)),
                Variant(pieces=(2, 1, 1)),
                Variant(zigzag=True),
                Variant(rows=2),
            ]
            variant = draw(st.sampled_from([*options, Variant(rows=2, zigzag=True)]))
        if kind == "S":
            cut_dims.add(dim)
            shape[dim] *= size * 2 * sum(variant.pieces) * variant.rows
        joins.append(Join(kind, size, dim, variant))  # type: ignore[arg-type]
    return tuple(joins), tuple(shape)


def _parts(whole: Floats, joins: tuple[Join, ...], seed: int) -> list[Floats]:
    generator = np.random.default_rng(seed)

    def summands(size: int, x: Floats) -> list[Floats]:
        own = [generator.normal(size=x.shape) for _ in range(size - 1)]
        return [*own, x - sum(own, np.zeros_like(x))]

    parts = [whole]
    for join in reversed(joins):
        share = partial(summands, join.size)
        parts = [piece for part in parts for piece in _cut(part, join, share)]
    return parts


@given(_layouts(), st.integers(0, 1000))
def test_parts_of_any_layout_join_to_the_tensor(
    layout: tuple[tuple[Join, ...], tuple[int, ...]], seed: int
) -> None:
    joins, shape = layout
    whole = np.random.default_rng(seed).normal(size=shape)
    assert join_parts(_parts(whole, joins, seed), joins) == pytest.approx(whole)


def _statistics(values: Floats) -> list[float]:
    return [values.max(), values.min(), values.mean(), float(np.linalg.norm(values))]


@given(_layouts(), st.integers(0, 1000))
def test_statistics_of_parts_join_to_those_of_the_tensor(
    layout: tuple[tuple[Join, ...], tuple[int, ...]], seed: int
) -> None:
    joins, shape = layout
    whole = np.random.default_rng(seed).normal(size=shape) + 3.0
    parts = _parts(whole, joins, seed)
    table = np.array([_statistics(part) for part in parts]).T.reshape(4, 1, -1)
    axes = [AxisLayout(a, j.size, j.kind, j.dim) for a, j in zip(_AXES, joins, strict=False)]
    count = np.array([part.size for part in parts], dtype=float)
    found = join_statistics(table, count, axes)[:, 0]
    true = np.array(_statistics(whole))
    assert found[2] == pytest.approx(true[2])
    if all(join.kind in "RS" for join in joins):
        assert found == pytest.approx(true)
    elif whole.size > 1 and joins[0].kind in "PA":
        assert np.isnan(found[[0, 1, 3]]).all()


@given(_layouts(), st.integers(0, 1000))
def test_a_whole_lies_within_its_bounds(
    layout: tuple[tuple[Join, ...], tuple[int, ...]], seed: int
) -> None:
    joins, shape = layout
    whole = np.random.default_rng(seed).normal(size=shape)
    parts = _parts(whole, joins, seed)
    table = np.array([_statistics(part) for part in parts]).T.reshape(4, 1, -1)
    axes = [AxisLayout(a, j.size, j.kind, j.dim) for a, j in zip(_AXES, joins, strict=False)]
    least, most = bounds(table, axes)
    high, low, _, norm = _statistics(whole)
    for value, place in ((high, 0), (low, 1), (norm, 2)):
        assert least[place, 0] - 1e-9 <= value <= most[place, 0] + 1e-9
    assert outside(least, most, np.array([_statistics(whole)]).T, np.full(1, 1e-6))[1][0] == 0.0
    beyond = np.array([_statistics(whole * 50.0 * (1.0 + most.max()))]).T
    exceeded, by = outside(least, most, beyond, np.full(1, 1e-6))
    assert by[0] > 0.0
    assert np.isnan(exceeded[2, 0])


@given(_layouts(), st.integers(0, 1000), st.sampled_from((np.inf, -np.inf)))
def test_infinite_parts_bound_nothing(
    layout: tuple[tuple[Join, ...], tuple[int, ...]], seed: int, infinite: float
) -> None:
    joins, shape = layout
    whole = np.random.default_rng(seed).normal(size=shape)
    parts = _parts(whole, joins, seed)
    overflown = [part.copy() for part in parts]
    for part in overflown[:2]:
        part.flat[0] = infinite
        infinite = -infinite
    table = np.array([_statistics(part) for part in overflown]).T.reshape(4, 1, -1)
    axes = [AxisLayout(a, j.size, j.kind, j.dim) for a, j in zip(_AXES, joins, strict=False)]
    least, most = bounds(table, axes)
    # What overflowed in the parts may be anything in the whole, also finite.
    assert not least[2, 0] > np.linalg.norm(whole) or any(join.kind in "RSD" for join in joins)
    assert not most[2, 0] < np.inf or any(join.kind == "R" for join in joins)


@given(st.lists(st.sampled_from((1, 2, 3)), min_size=3, max_size=3), st.integers(0, 2))
def test_the_true_cut_is_among_the_candidates(sizes: list[int], dim: int) -> None:
    local = (4, 5, 6)
    grid = (*sizes, 1, 1)
    shapes = (local,) * int(np.prod(grid))
    wanted = list(local)
    for size in sizes:
        wanted[dim] *= size
    found = candidates(shapes, grid, "parameter", False)  # type: ignore[arg-type]
    assert tuple(wanted) in {candidate.shape for candidate in found}
    assert [c.cost for c in found] == sorted(c.cost for c in found)


def test_uneven_parts_are_cut_and_never_repeated() -> None:
    found = candidates(((3, 4), (2, 4)), (2, 1, 1, 1, 1), "forward", True)
    assert {(str(c.axes[0]), c.shape) for c in found} == {("tp: S(0)", (5, 4))}


def test_recorded_placements_leave_no_choice() -> None:
    shapes = ((4, 4), (4, 4))
    for placement, text in (("R", "tp: R"), ("S(1)", "tp: S(1)"), ("P", "tp: P")):
        found = candidates(shapes, (2, 1, 1, 1, 1), "forward", True, (("tp", placement),))
        assert [str(c.axes[0]) for c in found] == [text]


def test_replicas_that_differ_in_one_place_of_the_grid_disagree() -> None:
    axes = (AxisLayout("tp", 2, "R"), AxisLayout("dp", 3, "S", 0))
    table = np.ones((4, 2, 6))
    table[:, 1, 3] = 2.0  # dp 1, tp 1
    assert disagreement(table, axes, 0).tolist() == [0.0, 1.0]
