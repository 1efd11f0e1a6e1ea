"""Sketches of parts that add up or repeat each other join to the sketch of the whole."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from builder.ranks.joining.joined_sketches import (
    are_cut_alike,
    have_sketches,
    join_sketches,
    sketch_disagreement,
    sketch_error,
    sketch_text,
)
from builder.ranks.joining.layouts import AxisLayout
from msprobe_core.torch.measure.sketch import sketch
from msprobe_core.values.text import sketch_text as text_of_a_dump

Floats = NDArray[np.float64]
_SIZE = 2000


def _sketched(values: Floats) -> list[float]:
    return [float(number) for number in sketch(torch.from_numpy(values), float("inf"), True)]


def _parts(whole: Floats, axes: list[AxisLayout], random: np.random.Generator) -> list[Floats]:
    parts = [whole]
    for axis in reversed(axes):
        parts = [piece for part in parts for piece in _cut(part, axis, random)]
    return parts


def _cut(whole: Floats, axis: AxisLayout, random: np.random.Generator) -> list[Floats]:
    if axis.kind == "R":
        return [whole] * axis.size
    if axis.kind == "D":
        owner = np.arange(whole.size) % axis.size
        return [np.where(owner == rank, whole, 0.0) for rank in range(axis.size)]
    own = [random.normal(size=whole.shape) for _ in range(axis.size - 1)]
    parts = [*own, whole - sum(own, np.zeros_like(whole))]
    return [part * axis.size for part in parts] if axis.kind == "A" else parts


_AXES = st.lists(
    st.builds(AxisLayout, st.just("tp"), st.integers(2, 3), st.sampled_from("RPAD")),
    min_size=1,
    max_size=3,
)


@given(_AXES, st.integers(0, 1000))
def test_the_sketch_of_what_is_repeated_or_summed_is_that_of_the_whole(
    axes: list[AxisLayout], seed: int
) -> None:
    random = np.random.default_rng(seed)
    whole = random.normal(size=_SIZE)
    table = np.array([[_sketched(part) for part in _parts(whole, axes, random)]])
    assert have_sketches(axes, ())
    assert join_sketches(table, axes)[0] == pytest.approx(_sketched(whole), abs=1e-6)


def test_parts_that_both_sides_cut_alike_show_an_exchange_of_elements() -> None:
    random = np.random.default_rng(1)
    axes = (AxisLayout("tp", 2, "S", 0), AxisLayout("dp", 2, "R"))
    parts = [random.normal(size=_SIZE) for _ in range(2)] * 2
    moved = [parts[0][::-1].copy(), parts[1]] * 2
    ours, theirs = (np.array([[_sketched(p) for p in side]]) for side in (moved, parts))
    assert are_cut_alike(axes, axes)
    joined = [join_sketches(table, axes) for table in (ours, theirs)]
    true = np.linalg.norm(moved[0] - parts[0]) / np.hypot(*map(np.linalg.norm, parts[:2]))
    error = float(sketch_error(*joined, np.zeros(1), np.full(1, 1e-6))[0])
    assert true / 2.5 < error < true * 2.5
    assert sketch_error(joined[1], joined[1], np.zeros(1), np.zeros(1)).tolist() == [0.0]


def test_what_ranks_share_is_cut_like_the_micro_batches_of_one_process() -> None:
    random = np.random.default_rng(4)
    parts = [random.normal(size=_SIZE) for _ in range(4)]
    ranks = (AxisLayout("tp", 2, "R"), AxisLayout("dp", 2, "S", 0), AxisLayout("micro", 2, "S", 0))
    alone = (AxisLayout("micro", 4, "S", 0),)
    assert are_cut_alike(ranks, alone)
    assert not are_cut_alike(ranks, (AxisLayout("micro", 4, "S", 1),))
    assert not are_cut_alike(ranks, (AxisLayout("micro", 2, "S", 0),))
    sketches = [_sketched(part) for part in parts]
    ours = join_sketches(np.array([[s for s in sketches for _ in range(2)]]), ranks)
    assert ours == pytest.approx(join_sketches(np.array([sketches]), alone))


def test_what_is_cut_on_one_side_only_has_no_sketch() -> None:
    cut, whole = (AxisLayout("tp", 2, "S", 0),), (AxisLayout("tp", 2, "R"),)
    assert not have_sketches(cut, ())
    assert not have_sketches(whole, cut)
    assert not are_cut_alike(cut, ())
    assert not are_cut_alike(cut, (AxisLayout("tp", 2, "S", 1),))
    assert not are_cut_alike(whole, whole)


def test_replicas_with_the_same_elements_in_another_order_disagree() -> None:
    values = np.random.default_rng(2).normal(size=_SIZE)
    axes = (AxisLayout("tp", 2, "R"),)
    turned = np.array([[_sketched(values), _sketched(values[::-1].copy())]])
    same = np.array([[_sketched(values)] * 2])
    assert sketch_disagreement(turned, axes, 0)[0] > 0.5
    assert sketch_disagreement(same, axes, 0)[0] == 0.0
    assert sketch_disagreement(np.full((1, 2, 8), np.nan), axes, 0)[0] == 0.0


def test_a_sketch_is_written_as_the_dumper_writes_it() -> None:
    numbers = [float(n) for n in range(-3, 5)]
    assert f', "sketch": "{sketch_text(np.array(numbers))}"' == text_of_a_dump(numbers)
    assert sketch_text(np.full(8, np.nan)) is None
