"""Max, Min, Mean and L2 norm of one tensor as JSON text, and how many NaN and infinities it has.

Sums are taken in float64 and written with the digits that no order of summation changes, so they
depend neither on layout nor on threads, and neither overflow nor underflow in a narrower dtype.
Integers and bools have no Mean and Norm; complex values are measured by their magnitude; a sparse
tensor counts its zeros; a distributed one its local part.
"""

from __future__ import annotations

import threading
from math import hypot, inf, isfinite, sqrt
from typing import NamedTuple

import torch

from msprobe_core.torch.measure.elements import in_memory_order
from msprobe_core.torch.measure.strided import OPAQUE, whole_bytes
from msprobe_core.torch.measure.tensor_kernels import read_once
from msprobe_core.values.text import number

Number = float | bool | None

WIDE_INTEGERS = frozenset(
    getattr(torch, name) for name in ("uint16", "uint32", "uint64") if hasattr(torch, name)
)
_UINT64 = getattr(torch, "uint64", None)
_BLOCK = 32768  # elements per thread whose float64 copy stays in the cache
_FEW_TO_KEEP = 2048  # from so many elements on, new memory costs more than looking for the kept
_local = threading.local()
_FEW = 16  # for so many elements four calls into torch cost more than a list
_EXACT = frozenset({torch.float32, torch.float64})
_SQUARABLE = (1e-140, 1e140)
"""Magnitudes whose squares, and sums of many of them, float64 holds."""
_FINEST_MEAN = 2.0**-36
"""Means are multiples of this part of the root mean square: what is below is rounding."""


class Measured(NamedTuple):
    """Statistics as JSON members; `counts` holds NaN and Inf counts where there are any.

    `abnormal`: an element is not finite, or the largest that its dtype can hold. `extreme`: the
    largest magnitude of an element, infinite where it is not known.
    """

    text: str
    counts: str
    abnormal: bool
    extreme: float = inf


EMPTY = Measured(', "Max": null, "Min": null, "Mean": null, "Norm": null', "", False)


def _limits() -> dict[torch.dtype, float]:
    """The largest finite number of each real and complex floating dtype."""
    limits: dict[torch.dtype, float] = {}
    for dtype in vars(torch).values():
        if isinstance(dtype, torch.dtype) and (dtype.is_floating_point or dtype.is_complex):
            try:
                limits[dtype] = torch.finfo(dtype).max
            except NotImplementedError:  # the packed 4-bit formats have no arithmetic at all
                continue
    return limits


LIMITS = _limits()


def measure_now(tensor: torch.Tensor, all_digits: bool = False) -> Measured:
    """Measure a plain strided tensor on the CPU. Gradients must be off.

    `all_digits` writes sums as they are, with the last digits that depend on their order.
    """
    dtype = tensor.dtype
    size = tensor.numel()
    if not size:
        return EMPTY
    if size <= _FEW and dtype in _EXACT:
        few = _measure_few(tensor, all_digits)
        if few is not None:
            return few
    if dtype in OPAQUE:
        return EMPTY
    if dtype not in LIMITS:
        return _measure_whole_numbers(whole_bytes(tensor))
    flat, times = in_memory_order(as_measured(tensor))
    low, high, total, squares = _sums(flat)
    sums = (total * times, squares * times)
    if isfinite(squares):
        return measured_sums(low, high, sums, size, dtype, all_digits)
    nan, infinite = (int(count) * times for count in nonfinite_counts(flat))
    return measured_nonfinite(low, high, sums, size, dtype, (nan, infinite))


def as_measured(tensor: torch.Tensor) -> torch.Tensor:
    """Floating values in a dtype that has reductions; magnitudes of complex ones."""
    if tensor.dtype.is_complex:
        return (tensor.to(torch.complex64) if tensor.dtype.itemsize == 4 else tensor).abs()
    return tensor.to(torch.float32) if tensor.dtype.itemsize == 1 else tensor


def as_integers(tensor: torch.Tensor) -> tuple[torch.Tensor, int]:
    """Integers in a format that has extremes, and what is to be added to those: of unsigned ones of
    64 bits half of the range.
    """
    if tensor.dtype is _UINT64:
        return tensor.view(torch.int64).bitwise_xor(-(2**63)), 2**63
    return (tensor.to(torch.int64) if tensor.dtype in WIDE_INTEGERS else tensor), 0


def measure_sparse(tensor: torch.Tensor, stored: torch.Tensor) -> Measured:
    """Measure a sparse tensor by its stored elements; the others are zeros."""
    missing = tensor.numel() - stored.numel()
    if not stored.numel() or missing <= 0:
        return measure_now(stored if stored.numel() else torch.zeros(min(missing, 1)))
    dtype = stored.dtype
    if dtype not in LIMITS:
        least, most = _extremes(stored)
        return measured([max(most, 0), min(least, 0), None, None], (0, 0), None)
    flat, _ = in_memory_order(as_measured(stored))
    low, high, total, squares = _sums(flat)
    counts = nonfinite_counts(flat)
    mean, norm = total / tensor.numel(), sqrt(squares) if squares >= 0 else squares
    numbers: list[Number] = [max(high, 0), min(low, 0), mean, norm]
    return measured(numbers, (int(counts[0]), int(counts[1])), LIMITS[dtype])


def nonfinite_counts(tensor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """How many NaN and how many infinities there are, where the tensor lies."""
    values = tensor.to(torch.float32) if tensor.element_size() == 1 else tensor
    return values.isnan().sum(), values.isinf().sum()


def measured(numbers: list[Number], counts: tuple[int, int], limit: float | None) -> Measured:
    """The record text of Max, Min, Mean and Norm as they are."""
    high, low, mean, norm = (number(value) for value in numbers)
    text = f', "Max": {high}, "Min": {low}, "Mean": {mean}, "Norm": {norm}'
    nan, infinite = counts
    counted = f', "nan_count": {nan}' if nan else ""
    counted += f', "inf_count": {infinite}' if infinite else ""
    abnormal = bool(nan or infinite or _is_saturated(numbers[0], limit))
    return Measured(text, counted, abnormal)


def measured_sums(
    low: float,
    high: float,
    sums: tuple[float, float],
    size: int,
    dtype: torch.dtype,
    all_digits: bool,
) -> Measured:
    """Statistics from finite sums of the elements and of their squares, divided by `_scale`."""
    low, high = low + 0.0, high + 0.0  # which of two zeros was met first is chance
    scale = _scale(low, high)
    mean, norm = sums[0] / size * scale, sqrt(sums[1]) * scale
    if all_digits or size == 1:
        written = f'"Mean": {mean!r}, "Norm": {norm!r}'
    else:
        digits = ".12g" if dtype in (torch.float64, torch.complex128) else ".9g"
        mean = _without_rounding(mean, norm / sqrt(size))
        written = f'"Mean": {_decimal(mean, digits)}, "Norm": {_decimal(norm, digits)}'
    text = f', "Max": {high!r}, "Min": {low!r}, {written}'
    return Measured(text, "", _is_saturated(high, LIMITS[dtype]), max(high, -low))


def measured_nonfinite(
    low: float,
    high: float,
    sums: tuple[float, float],
    size: int,
    dtype: torch.dtype,
    counts: tuple[int, int],
) -> Measured:
    """Statistics of elements of which `counts` are NaN and infinite."""
    statistics: list[Number] = [high, low, sums[0] / size, sqrt(sums[1])]
    return measured(statistics, counts, LIMITS[dtype])


def _without_rounding(mean: float, root_mean_square: float) -> float:
    """The mean without what the order of summation leaves in it where positives and negatives
    cancel.
    """
    finest = root_mean_square * _FINEST_MEAN
    return round(mean / finest) * finest if finest else mean


def _scale(low: float, high: float) -> float:
    """What the elements are divided by before they are squared: 1 but for extreme ones."""
    largest = max(abs(low), abs(high))
    return 1.0 if not largest or _SQUARABLE[0] < largest < _SQUARABLE[1] else largest


def _decimal(value: float, digits: str) -> str:
    text = format(value, digits)
    return text if "." in text or "e" in text else f"{text}.0"


def _sums(flat: torch.Tensor) -> tuple[float, float, float, float]:
    """Least and largest element, sum, and sum of squares, of elements divided by `_scale`."""
    read = read_once(flat, sketched=False)
    if read is not None:  # no element of these formats needs a scale
        return read[:4]
    size = flat.numel()
    block = _BLOCK * torch.get_num_threads()
    if flat.dtype is torch.float64 or size <= block:
        extremes = torch.aminmax(flat)
        low, high = extremes.min.item(), extremes.max.item()
        scale = _scale(low, high)
        wide = _widened(flat, block)
        if scale != 1.0 and isfinite(scale):
            wide = wide / scale
        return low, high, torch.sum(wide).item(), torch.dot(wide, wide).item()
    lows: list[float] = []
    highs: list[float] = []
    total = squares = 0.0
    for part in flat.split(block):
        least, most = torch.aminmax(part)
        lows.append(least.item())
        highs.append(most.item())
        wide = _widened(part, block)
        total += torch.sum(wide).item()
        squares += torch.dot(wide, wide).item()
    if not isfinite(squares):  # NaN has no place in an order
        least, most = torch.aminmax(flat)
        return least.item(), most.item(), total, squares
    return min(lows), max(highs), total, squares


def _widened(flat: torch.Tensor, block: int) -> torch.Tensor:
    """At most a block of elements in float64, until the next ones of this thread.

    Their place is kept: memory that is new for each block costs more than the conversion.
    """
    size = flat.numel()
    if flat.dtype is torch.float64 or size < _FEW_TO_KEEP:
        return flat.to(torch.float64)
    kept: torch.Tensor | None = getattr(_local, "kept", None)
    if kept is None or kept.numel() < block:
        with torch.inference_mode(False):  # an inference tensor could not take other blocks
            kept = _local.kept = torch.empty(block, dtype=torch.float64, device="cpu")
    return kept[:size].copy_(flat)


def _measure_few(tensor: torch.Tensor, all_digits: bool) -> Measured | None:
    """Measure a few elements in Python, which is faster; None when one of them is not finite."""
    values = [tensor.item()] if tensor.ndim == 0 else tensor.reshape(-1).tolist()
    total = sum(values)
    norm = hypot(*values)
    if not isfinite(norm) or not isfinite(total):
        return None
    size, low, high = len(values), min(values), max(values)
    scale = _scale(low, high)
    sums = (total / scale, (norm / scale) ** 2)
    return measured_sums(low, high, sums, size, tensor.dtype, all_digits)


def _measure_whole_numbers(tensor: torch.Tensor) -> Measured:
    if tensor.dtype is torch.bool:
        return measured([bool(tensor.any()), bool(tensor.all()), None, None], (0, 0), None)
    low, high = _extremes(tensor)
    return measured([high, low, None, None], (0, 0), None)


def _extremes(tensor: torch.Tensor) -> tuple[int, int]:
    if tensor.dtype is torch.bool:
        return bool(tensor.all()), bool(tensor.any())
    whole, zero = as_integers(tensor)
    low, high = torch.aminmax(whole)
    return int(low.item()) + zero, int(high.item()) + zero


def _is_saturated(high: Number, limit: float | None) -> bool:
    # The least number that a dtype holds is what attention masks are filled with.
    return limit is not None and high is not None and high >= limit
