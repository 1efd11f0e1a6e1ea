"""When two arguments mean the same: numbers, infinities, nested values, flags and texts."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from builder.compare.attributes import are_written_otherwise, argument_error
from builder.dump.values import Record


def number(value: object) -> Record:
    """A float as a dump has it: what is not finite as text."""
    return Record(
        "float", value=str(value) if isinstance(value, float) and value - value else value
    )


def nested(*values: object) -> Record:
    return Record("slice", value=list(values))


UNLIKE = [
    (number(1.0), number(inf)),
    (number(-inf), number(inf)),
    (number(1.0), number(-inf)),
    (number(0.0), number(-inf)),
    (number(nan), number(inf)),
    (number(nan), number(0.0)),
    (Record("float", value="Infinity"), number(65000.0)),
    (Record("int", value=3), number(inf)),
    (Record("int", value=2**60), Record("int", value=2**60 + 1)),
    (Record("int", value=10**400), number(1.5)),
    (Record("bool", value=True), Record("int", value=1)),
    (Record("bool", value=False), number(0.0)),
    (Record("str", value="inf"), number(inf)),
    (Record("str", value="sum"), Record("str", value="mean")),
    (nested(1, None), nested(1, 2)),
    (nested(True, 2), nested(1, 2)),
    (nested([0.5, inf]), nested([0.5, 2.0])),
    (Record("dict", value={"scale": 1.0}), Record("dict", value={"scale": inf})),
    (Record("dict", value={"a": 1}), Record("dict", value={"b": 1})),
    (Record("NoneType", value=None), number(0.0)),
]
ALIKE = [
    (number(inf), Record("float", value="Infinity")),
    (number(nan), Record("float", value="NaN")),
    (number(0.3), number(0.1 + 0.2)),
    (number(2.0), Record("int", value=2)),
    (number(-1e9), number(-inf)),  # masks of two formats
    (nested(nan, 1, [2.0]), nested(nan, 1, [2])),
    (Record("torch.Size", value=[2, 3]), Record("tuple", value=[2, 3])),
]


@pytest.mark.parametrize(("ours", "theirs"), UNLIKE)
def test_other_arguments_differ_in_either_direction(ours: Record, theirs: Record) -> None:
    assert argument_error(ours, theirs) == argument_error(theirs, ours) == np.inf


@pytest.mark.parametrize(("ours", "theirs"), ALIKE)
def test_what_means_the_same_does_not_differ(ours: Record, theirs: Record) -> None:
    assert argument_error(ours, theirs) == argument_error(theirs, ours) == 0.0


def test_masks_of_two_sizes_are_alike_and_yet_not_the_same() -> None:
    assert are_written_otherwise(number(1e9), number(inf))
    assert not are_written_otherwise(number(nan), number(nan))
    assert not are_written_otherwise(number(inf), Record("float", value="inf"))
