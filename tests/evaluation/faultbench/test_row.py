"""A row is right by the finest thing that it says."""

from __future__ import annotations

import pytest

from faultbench.fault import Answer
from faultbench.row import Row, bare, first_right, is_right

INSIDE = Answer("layers.0.mlp", "mul", frozenset({("wrong.py", 40), ("right.py", 40)}))
OUTSIDE = Answer("", "cross_entropy", frozenset({("wrong.py", 70)}))


@pytest.mark.parametrize(
    ("row", "right"),
    [
        (Row("elsewhere", "other", "wrong.py", 40), True),
        (Row("layers.0.mlp", "__rmul__", "wrong.py", 41), True),
        (Row("layers.0.mlp", "add", "wrong.py", 41), False),
        (Row("layers.0.mlp"), True),
        (Row("layers.0.mlp", None, "wrong.py", 90), True),
        (Row("layers.0"), False),
        (Row(None, "mul", "wrong.py", 41), False),
        (Row("layers.1.mlp", "mul"), False),
    ],
)
def test_inside_a_module(row: Row, right: bool) -> None:
    assert is_right(row, [INSIDE]) is right


def test_a_module_alone_names_nothing_outside_of_modules() -> None:
    assert not is_right(Row(""), [OUTSIDE])
    assert is_right(Row("", "cross_entropy"), [OUTSIDE])


def test_the_first_right_row_counts_from_one() -> None:
    rows = [Row("layers.1.mlp"), Row("layers.0.mlp"), Row("layers.0.mlp")]
    assert first_right(rows, [INSIDE]) == 2
    assert first_right(rows[:1], [INSIDE]) is None


def test_names_of_operators() -> None:
    names = ("__rmul__", "mul_", "Mul", "__truediv__", "relu", "round")
    assert [bare(name) for name in names] == ["mul", "mul", "mul", "truediv", "relu", "round"]
