"""Calls that move, drop or gate elements hand rounding on; they do not begin a difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builder.diagnosis.small_runs import Entries, findings, names
from tests.builder.dumps import Json, backward, forward, tensor

HALF = {"dtype": "torch.bfloat16"}


def half(norm: float, **more: object) -> Json:
    return tensor(norm, **HALF, **more)


def one_call(call: str, read: float, put_out: float) -> Entries:
    return {call: forward([half(read)], [half(put_out)])}


@pytest.mark.parametrize(
    ("call", "kept", "named"),
    [
        ("Tensor.masked_fill", 5.5, False),  # 10 % of what is left, no further apart than the input
        ("Tensor.__getitem__", 5.5, False),
        ("Tensor.masked_fill_", 5.5, False),
        ("Tensor.masked_fill", 9.0, True),  # moved further than it came
        ("Tensor.mul", 5.5, True),  # computes
    ],
)
def test_what_only_drops_elements_is_judged_by_distance(
    tmp_path: Path, call: str, kept: float, named: bool
) -> None:
    name = f"{call}.0.forward"
    found = findings(tmp_path, one_call(name, 101.0, kept), one_call(name, 100.0, 5.0))
    assert names(found) == ([name] if named else [])


def test_elements_that_are_dropped_from_equal_ones_have_to_be_equal(tmp_path: Path) -> None:
    name = "Tensor.narrow.0.forward"
    found = findings(tmp_path, one_call(name, 100.0, 5.5), one_call(name, 100.0, 5.0))
    assert names(found) == [name]


def gated(call: str, read: float, gradient: float) -> Entries:
    return {
        f"{call}.0.forward": forward([half(read)], [half(read * 0.7)]),
        f"{call}.0.backward": backward([half(1.0)], [half(gradient)]),
    }


@pytest.mark.parametrize(
    ("call", "read", "named"),
    [
        ("Functional.relu", 10.1, False),  # 1 % rounding may turn √1 % of the gradient
        ("Functional.relu", 10.0, True),  # nothing decided otherwise
        ("Functional.gelu", 10.1, True),  # knows no bound
    ],
)
def test_a_gate_that_rounding_turned_is_no_finding(
    tmp_path: Path, call: str, read: float, named: bool
) -> None:
    found = findings(tmp_path, gated(call, read, 0.82), gated(call, 10.0, 0.7))
    assert names(found) == ([f"{call}.0.backward"] if named else [])


def test_a_gate_that_turns_one_element_turns_the_whole_of_it(tmp_path: Path) -> None:
    """0.02 % of the norm may turn no element by its share, and turns one now and then."""
    ours, theirs = gated("Functional.relu", 10.002, 0.9), gated("Functional.relu", 10.0, 0.7)
    assert findings(tmp_path, ours, theirs) == []


def test_a_gate_of_equal_values_turns_nothing(tmp_path: Path) -> None:
    ours, theirs = gated("Functional.relu", 10.0, 0.9), gated("Functional.relu", 10.0, 0.7)
    assert names(findings(tmp_path, ours, theirs)) == ["Functional.relu.0.backward"]
