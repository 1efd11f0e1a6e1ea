"""Whether two configured values mean the same."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msprobe.config_check.value_meaning import same, same_switch

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("0", 0),
        ("1e-4", 0.0001),
        ("1E-4", "0.0001"),
        (1, 1.0),
        ("True", True),
        ("true", "True"),
        ("None", None),
        ("null", None),
        ("[1, 2]", [1, 2]),
        ([1, "2"], (1.0, 2)),
        (0.1 + 0.2, "0.3"),
        (math.nan, "nan"),
        ({"a": "1"}, {"a": 1}),
        (" 5 ", 5),
    ],
)
def test_same(a: Any, b: Any) -> None:
    assert same(a, b)
    assert same(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, 2),
        (True, 1),
        ("false", 0),
        ("a", "A"),
        ([1], [1, 2]),
        ({"a": 1}, {"b": 1}),
        (None, 0),
        (None, False),
        (1e-4, 1.0001e-4),
        ("[1, 2]", "[1, 3]"),
    ],
)
def test_not_same(a: Any, b: Any) -> None:
    assert not same(a, b)
    assert not same(b, a)


@given(VALUES)
def test_a_value_is_the_same_as_itself_and_as_its_text(value: Any) -> None:
    assert same(value, value)
    if isinstance(value, bool | int | float):
        assert same(value, str(value))


@given(VALUES, VALUES)
def test_order_does_not_matter(a: Any, b: Any) -> None:
    assert same(a, b) == same(b, a)


def test_switches_are_on_or_off() -> None:
    assert same_switch("1", "true")
    assert same_switch("0", False)
    assert not same_switch("1", "0")
