"""Infinities of both sides are told apart by how many there are, where nothing else is rounded."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from builder.compare.infinite_marks import marks_apart
from builder.compare.statistics import statistics_of
from builder.dump.values import Record
from msprobe_core.torch.measure.numbers import measure_now

INF = float("inf")


def recorded(tensor: Tensor) -> Record:
    numbers = measure_now(tensor)
    cells = json.loads("{" + (numbers.text + numbers.counts).removeprefix(",") + "}")
    cells = {k: str(v) if isinstance(v, float) and np.isinf(v) else v for k, v in cells.items()}
    cells.pop("nan_count", None)
    return Record(type="torch.Tensor", dtype="float32", shape=tuple(tensor.shape), **cells)


def apart(ours: Tensor, theirs: Tensor) -> tuple[float, float] | None:
    records = [recorded(ours)], [recorded(theirs)]
    told = marks_apart(records, (statistics_of(records[0]), statistics_of(records[1])))
    return None if told is None else (float(told[0][0]), float(told[1][0]))


def masked(size: int, marks: int, mark: float = -INF) -> Tensor:
    tensor = torch.zeros(size)
    tensor[torch.randperm(size, generator=torch.Generator().manual_seed(size))[:marks]] = mark
    return tensor


@given(st.integers(2, 400), st.data())
def test_they_are_no_farther_apart_than_marks_at_these_places(
    size: int, data: st.DataObject
) -> None:
    n, m = (data.draw(st.integers(1, size - 1)) for _ in range(2))
    ours, theirs = masked(size, n), masked(size, m)
    told = apart(ours, theirs)
    true = float(torch.isinf(ours).double().sub(torch.isinf(theirs).double()).norm())
    assert (told is None) == (n == m)
    if told is not None:
        assert told == (pytest.approx(true), pytest.approx(max(n, m) ** 0.5))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (torch.tensor([0.0, INF, 1.0]), torch.tensor([0.5, INF, INF])),
        (torch.tensor([-INF, -INF, 1.0]), torch.tensor([-INF, 1.0 + 2**-20, 1.0])),
        (torch.tensor([-INF, INF, INF]), torch.tensor([-INF, -INF, INF])),
        (torch.tensor([-INF, 0.0, float("nan")]), torch.tensor([-INF, -INF, float("nan")])),
        (torch.tensor([0.0, 1.0]), torch.tensor([0.0, -INF])),
    ],
    ids=["another extreme", "rounded", "both ends", "nan", "one side alone"],
)
def test_where_anything_else_differs_they_tell_nothing(ours: Tensor, theirs: Tensor) -> None:
    assert apart(ours, theirs) is None


def test_dumps_that_do_not_count_them_tell_nothing() -> None:
    records = [Record(dtype="float32", Max=0.0, Min="-inf", Mean="-inf", Norm="inf")]
    assert marks_apart((records, records), (statistics_of(records),) * 2) is None
