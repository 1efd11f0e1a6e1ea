"""The sketch is what docs/formats.md says, on every layout and dtype, and estimates distances."""

from __future__ import annotations

import json
import math
import struct

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from msprobe_core.torch.measure import tensor_kernels
from msprobe_core.torch.measure.deferred import defer_measure, read_back
from msprobe_core.torch.measure.sketch import sketch, sketch_now
from msprobe_core.values.text import sketch_text
from tests.msprobe_core.torch.record.test_tensors import record


def projections(text: str) -> tuple[float, ...]:
    return struct.unpack("<8f", bytes.fromhex(text))


def scrambled(place: int) -> int:
    place ^= place >> 16
    place = place * 0x85EBCA6B % 2**32
    place ^= place >> 13
    place = place * 0xC2B2AE35 % 2**32
    return place ^ place >> 16


def by_definition(elements: list[float]) -> list[float]:
    """The sketch as the documentation defines it, one element after the other."""
    totals = [0.0] * 8
    for index, element in enumerate(elements):
        row, column = divmod(index, 1016)
        flips = scrambled(column)
        shared = scrambled(1016 + row) >> column // 127 & 1
        for k in range(8):
            totals[k] += -element if (flips >> k & 1) ^ shared else element
    return totals


def of(tensor: torch.Tensor) -> tuple[float, ...]:
    return projections(record(tensor, sketch=True)["sketch"])


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 5000), st.integers(0, 2**31))
def test_it_is_what_the_documentation_says(size: int, seed: int) -> None:
    values = torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    assert of(values) == pytest.approx(by_definition(values.tolist()), rel=1e-6, abs=1e-5)


def test_the_vector_in_the_documentation() -> None:
    values = torch.arange(3000, dtype=torch.float64) % 7 - 3
    assert list(of(values)) == by_definition(values.tolist())
    assert (
        record(values, sketch=True)["sketch"]
        == "000090c20000b0c1000088c20000b0c200000643000000c100009c420000f0c1"
    )


def test_many_rows_are_summed_in_parts() -> None:
    values = torch.randint(-9, 9, (1016 * 700 + 5,)).double()
    exact = sketch(values, math.inf)
    rows = values[: 1016 * 700].view(700, 8, 127)
    shared = torch.tensor(
        [[1 - 2 * (scrambled(1016 + r) >> j & 1) for j in range(8)] for r in range(700)]
    )
    folded = (rows * shared[:, :, None]).sum(dim=0).reshape(-1).tolist()
    last = [0.0] * 1016 * 700 + values[-5:].tolist()
    want = [a + b for a, b in zip(by_folded(folded), by_tail(last[-5:], 700))]
    assert exact.tolist() == want


@pytest.mark.parametrize("size", [2, 1016, 1017, 2032, 1016 * 321, 1016 * 700 + 5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_at_once_and_on_a_device_are_equal(size: int, dtype: torch.dtype) -> None:
    values = torch.randn(size + 3).to(dtype)[3:]
    assert sketch_now(values, math.inf) == sketch(values, math.inf).tolist()


def test_a_lazily_negated_view_has_its_own_signs() -> None:
    lazy = torch.randn(3000, dtype=torch.complex64).conj().imag
    assert lazy.is_neg()
    assert sketch_now(lazy, math.inf) == sketch_now(lazy.clone(), math.inf)


def by_folded(folded: list[float]) -> list[float]:
    return [
        sum(x * (1 - 2 * (scrambled(c) >> k & 1)) for c, x in enumerate(folded)) for k in range(8)
    ]


def by_tail(elements: list[float], row: int) -> list[float]:
    sign = 1 - 2 * (scrambled(1016 + row) & 1)
    return [sign * x for x in by_folded(elements)]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", [(3, 5), (40, 100), (16, 64, 64)])
def test_layout_and_threads_do_not_matter(shape: tuple[int, ...], threads: int) -> None:
    before = torch.get_num_threads()
    values = torch.randn(shape)
    expected = of(values.double())
    torch.set_num_threads(threads)
    try:
        other = values.transpose(0, 1).contiguous().transpose(0, 1)
        assert not other.is_contiguous()
        norm = values.norm().item()
        for same in (values, other, values.clone()[None]):
            assert math.dist(of(same), expected) / math.sqrt(8) <= 3e-7 * norm
    finally:
        torch.set_num_threads(before)


def test_another_order_of_the_same_elements_is_far_away() -> None:
    values = torch.randn(64, 64, generator=torch.Generator().manual_seed(1))
    away = math.dist(of(values), of(values.t().contiguous())) / math.sqrt(8)
    assert 0.5 < away / (values - values.t()).norm().item() < 2.0


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.int64, torch.bool]
)
def test_every_real_dtype_is_widened(dtype: torch.dtype) -> None:
    values = torch.arange(50).remainder(5).to(dtype)
    assert list(of(values)) == by_definition(values.double().tolist())


def test_complex_numbers_are_their_parts() -> None:
    values = torch.tensor([1 + 2j, 3 - 1j])
    assert list(of(values)) == by_definition([1, 2, 3, -1])
    assert list(of(values.conj())) == by_definition([1, -2, 3, 1])


@pytest.mark.parametrize(
    ("dtype", "mask"),
    [
        (torch.float32, -math.inf),
        (torch.float32, math.nan),
        (torch.float32, -1e9),
        (torch.bfloat16, -1e9),
        (torch.float32, torch.finfo(torch.float32).min),
        (torch.float16, torch.finfo(torch.float16).min),
        (torch.bfloat16, torch.finfo(torch.bfloat16).min),
    ],
)
@pytest.mark.parametrize("size", [6, 40, 4000])
def test_masks_count_as_zero(dtype: torch.dtype, mask: float, size: int) -> None:
    values = torch.ones(size, dtype=dtype)
    values[::3] = mask
    kept = values.double()
    kept[::3] = 0
    assert list(of(values)) == by_definition(kept.tolist())


def test_one_element_and_none_have_no_sketch() -> None:
    assert "sketch" not in record(torch.tensor(3.0), sketch=True)
    assert "sketch" not in record(torch.empty(0, 4), sketch=True)
    assert "sketch" not in record(torch.ones(4))


def test_numbers_read_back_together_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensor_kernels, "kernels", {})  # which rounds in another order
    tensors = [torch.randn(size) for size in (1, 30, 3000)]
    pending = [defer_measure(tensor, sketched=True) for tensor in tensors]
    read_back(pending)
    texts = [json.loads("{" + numbers.sketch[2:] + "}").get("sketch") for numbers in pending]
    expected = [record(tensor, sketch=True).get("sketch") for tensor in tensors]
    assert texts == expected


def test_what_float32_cannot_hold_is_its_largest_number() -> None:
    text = json.loads("{" + sketch_text([1e300, -1e300, *[0.0] * 6])[2:] + "}")["sketch"]
    largest = torch.finfo(torch.float32).max
    assert projections(text)[:3] == (largest, -largest, 0.0)
