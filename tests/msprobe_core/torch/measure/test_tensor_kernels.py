"""The kernel of one reading tells what torch's reductions tell, to the digits that are written."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from msprobe_core.torch.measure import tensor_kernels
from msprobe_core.torch.measure.numbers import measure_now
from msprobe_core.torch.measure.sketched_numbers import measure_and_sketch

COLUMNS = 1016
SIZES = [1, 2, 7, 8, 17, 127, 128, 1015, 1016, 1017, 2040, 32_513, 330_000]
FORMATS = [torch.float32, torch.bfloat16]


@pytest.fixture(autouse=True)
def with_kernel(kernel_library: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tensor_kernels, "kernels", tensor_kernels.load(kernel_library))
    with torch.no_grad():
        yield


def by_torch(tensor: torch.Tensor) -> tuple[str, list[float]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tensor_kernels, "kernels", {})
        return told(tensor)


def told(tensor: torch.Tensor) -> tuple[str, list[float]]:
    """The statistics as they are written, and the projections."""
    measured, sketch = measure_and_sketch(tensor, False)
    digits = sketch.partition('"sketch": "')[2].rstrip('"')
    projections = struct.unpack("<8f", bytes.fromhex(digits)) if digits else ()
    return f"{measured.text} {measured.counts} {measured.abnormal}", list(projections)


def assert_same(tensor: torch.Tensor) -> None:
    text, projections = told(tensor)
    expected, sketch = by_torch(tensor)
    assert text == expected
    scale = tensor.double().norm().item() or 1.0
    # Columns are summed in float32, in an order that is BLAS's own.
    assert projections == pytest.approx(sketch, rel=0, abs=1e-6 * scale)


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("size", SIZES)
def test_numbers_and_sketch_of_all_sizes(size: int, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(size)
    values = torch.randn(size, generator=generator)
    for scale, shift in ((1.0, 0.0), (1e-20, 0.0), (1e15, 0.0), (1.0, 1000.0)):
        assert_same((values * scale + shift).to(dtype))


@pytest.mark.parametrize("dtype", FORMATS)
def test_views_tell_what_their_copies_tell(dtype: torch.dtype) -> None:
    table = torch.randn(300, 400, generator=torch.Generator().manual_seed(3)).to(dtype)
    for view in (table[:, ::2], table.T, table[0].expand(50, 400), table[:1, :1].expand(9, 300)):
        assert told(view) == told(view.contiguous())
        assert_same(view)


@given(st.lists(st.floats(width=32), min_size=1, max_size=40), st.sampled_from(FORMATS))
@settings(deadline=None, max_examples=200)
def test_any_numbers(numbers: list[float], dtype: torch.dtype) -> None:
    text, _ = told(torch.tensor(numbers).to(dtype))
    expected, _ = by_torch(torch.tensor(numbers).to(dtype))
    assert text == expected


def test_long_sums_of_equal_terms_do_not_err() -> None:
    measured = measure_now(torch.full((5_000_000,), 0.1))
    assert f'"Mean": {torch.tensor(0.1).item():.9g}' in measured.text


def test_the_kernel_is_asked_once_for_both(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = tensor_kernels.kernels[torch.float32]
    count = {torch.float32: lambda *given: (asked.append(given[3]), real(*given))[1]}
    monkeypatch.setattr(tensor_kernels, "kernels", count)
    told(torch.ones(5000))
    assert asked == [True]
    measure_now(torch.ones(50, 100).T)
    assert asked == [True, False]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_is_left_to_torch(bad: float) -> None:
    values = torch.ones(3000)
    values[1234] = bad
    assert tensor_kernels.read_once(values, sketched=True) is None
    assert_text = told(values)[0]
    assert "_count" in assert_text and assert_text == by_torch(values)[0]


def test_what_fills_masks_counts_as_zero_in_the_sketch() -> None:
    values = torch.randn(3000)
    values[::7] = torch.finfo(torch.float32).min
    assert told(values) == by_torch(values)


def test_other_formats_and_other_machines_have_no_kernel(tmp_path: Path) -> None:
    assert tensor_kernels.read_once(torch.ones(3, dtype=torch.float64), sketched=False) is None
    broken = tmp_path / "libone_pass.so"
    assert tensor_kernels.load(broken) == {}
    broken.write_bytes(b"\x7fELF of another machine")
    assert tensor_kernels.load(broken) == {}
