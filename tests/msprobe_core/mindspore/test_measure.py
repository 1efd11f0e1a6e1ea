"""Statistics and sketches in NumPy are those that the dumper of PyTorch writes."""

from __future__ import annotations

import json
from pathlib import Path
from struct import unpack
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from msprobe_core.mindspore.record import measure as measuring
from msprobe_core.mindspore.record.array_sketch import sketch
from msprobe_core.mindspore.record.measure import measure, measure_and_sketch
from msprobe_core.torch.measure.numbers import measure_now
from msprobe_core.torch.measure.sketch import sketch_now
from msprobe_core.values.one_pass import load

SHAPES = ((), (1,), (3, 4), (1016,), (1017,), (5, 1000), (400, 1016))


@pytest.fixture(params=["kernel", "NumPy"], autouse=True)
def way(
    request: pytest.FixtureRequest, kernel_library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The numbers are the same by the kernel and by reductions of NumPy."""
    found = load(kernel_library) if request.param == "kernel" else {}
    monkeypatch.setattr(measuring, "kernels", found)


def numbers(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads("{" + text.removeprefix(", ") + "}")
    return found


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64", "int32", "bool"])
def test_numbers_are_those_of_the_other_dumper(shape: tuple[int, ...], dtype: str) -> None:
    array = np.asarray((np.random.RandomState(1).standard_normal(shape) * 5).astype(dtype))
    found, other = measure(array), measure_now(torch.from_numpy(np.array(array)))
    mine, theirs = numbers(found.text), numbers(other.text)
    for name in ("Max", "Min", "Mean", "Norm"):
        size = abs(theirs["Norm"] or 1.0)
        assert mine[name] == (
            theirs[name] if theirs[name] is None else pytest.approx(theirs[name], abs=1e-6 * size)
        )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64", "int64", "bool"])
def test_sketches_are_those_of_the_other_dumper(shape: tuple[int, ...], dtype: str) -> None:
    array = (np.random.RandomState(2).standard_normal(shape) * 5).astype(dtype)
    theirs = sketch_now(torch.from_numpy(np.array(array)), 1e3)
    size = float(np.linalg.norm(array.astype(np.complex128).reshape(-1))) + 1.0
    np.testing.assert_allclose(sketched(np.asarray(array)), theirs, atol=1e-5 * size)


def sketched(array: Any) -> tuple[float, ...]:
    """The sketch that is written beside the statistics."""
    told, text = measure_and_sketch(array)
    assert told == measure(array)
    return unpack("<8f", bytes.fromhex(numbers(text)["sketch"]))


def test_masks_count_as_zero() -> None:
    array = np.array([1.0, -3.4e38, 2.0], np.float32)
    plain = np.array([1.0, 0.0, 2.0], np.float32)
    np.testing.assert_allclose(sketched(array), sketch(plain, 2.0))
    assert measure_and_sketch(np.zeros((0, 3), np.float32)) == (measure(plain[:0]), "")


def test_columns_of_an_array_are_measured_like_their_copy() -> None:
    table = np.random.RandomState(3).standard_normal((40, 30)).astype(np.float32)
    view, copy = table[:, ::2], table[:, ::2].copy()
    assert numbers(measure(view).text) == pytest.approx(numbers(measure(copy).text))
    np.testing.assert_allclose(sketched(view), sketched(copy), atol=1e-4)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), min_size=1))
def test_any_floats_have_numbers(values: list[float]) -> None:
    array = np.array(values, np.float32)
    found, _ = measure_and_sketch(array)
    assert numbers(found.text)["Max"] == pytest.approx(np.maximum.reduce(array), nan_ok=True)
    assert found.abnormal == (not bool(np.isfinite(array).all())) or found.extreme > 3.4e38


def test_doubles_whose_squares_overflow_have_a_norm() -> None:
    told = numbers(measure(np.array([3e200, 4e200])).text)
    assert told["Norm"] == pytest.approx(5e200)
    assert numbers(measure(np.zeros((0, 3), np.float32)).text)["Norm"] is None
