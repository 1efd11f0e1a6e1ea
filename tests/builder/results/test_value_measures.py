"""What compares the records of two values, and which of it an error is."""

from __future__ import annotations

import struct

import pytest

from builder.compare.statistics import relative_error, statistics_of
from builder.dump.values import Record
from builder.results.value_measures import ValueMeasures, measure_values


def tensor(high: float | str, low: float | str, mean: float | str, norm: float | str) -> Record:
    return Record("torch.Tensor", "torch.float32", (4,), Max=high, Min=low, Mean=mean, Norm=norm)


@pytest.mark.parametrize(
    ("ours", "name"),
    [
        (tensor(2.0, -1.0, 0.5, 3.0), "norm"),
        (tensor(2.0, -1.0, 0.9, 2.5), "mean"),
        (tensor(2.9, -1.0, 0.5, 2.5), "max"),
        (tensor(2.0, -1.9, 0.5, 2.5), "min"),
        (tensor(2.6, -1.3, 0.65, 3.25), "norm"),  # scaled as a whole: all parts are 0.3
        (tensor("nan", -1.0, 0.5, 2.5), "max"),
    ],
)
def test_error_is_of_its_largest_part(ours: Record, name: str) -> None:
    theirs = tensor(2.0, -1.0, 0.5, 2.5)
    (error,) = relative_error(statistics_of([ours]), statistics_of([theirs])).tolist()
    (found,) = measure_values([ours], [theirs])
    assert found.error_of(error) == name


def test_error_of_something_else_is_of_no_part() -> None:
    (found,) = measure_values([tensor(2.0, -1.0, 0.5, 3.0)], [tensor(2.0, -1.0, 0.5, 2.5)])
    assert found.error_of(1.0) is None
    assert found.error_of(None) is None
    assert ValueMeasures().error_of(0.2) is None


def test_values_without_statistics_have_no_measures() -> None:
    scalar = Record("int", value=3)
    assert measure_values([scalar], [scalar]) == [
        ValueMeasures({}, dict.fromkeys(("max", "min", "mean", "norm"), -1.0))
    ]


def test_sketches_name_the_elements_where_statistics_agree() -> None:
    def sketched(*numbers: float) -> Record:
        return Record(
            "torch.Tensor",
            "torch.float32",
            (4,),
            Max=2.0,
            Min=-1.0,
            Mean=0.5,
            Norm=2.5,
            sketch=struct.pack("<8f", *numbers).hex(),
        )

    (found,) = measure_values([sketched(*[1.0] * 8)], [sketched(*[2.0] * 8)])
    error = found.named["Estimated Relative Error"]
    assert isinstance(error, float)
    assert found.error_of(error) == "sketch"
