"""Numbers and sketch of a tensor on the CPU together: of most in one reading."""

from __future__ import annotations

import torch

from msprobe_core.torch.measure import tensor_kernels
from msprobe_core.torch.measure.numbers import Measured, measure_now, measured_sums
from msprobe_core.torch.measure.sketch import repeats_too_much, sketch_now, zero_from
from msprobe_core.torch.measure.strided import OPAQUE, whole_bytes
from msprobe_core.values.text import sketch_text


def measure_and_sketch(tensor: torch.Tensor, double: bool) -> tuple[Measured, str]:
    """Numbers, and the sketch as a member of a record: empty where there is none.

    For a plain strided tensor with elements; gradients must be off. With `double` sums are taken
    in float64 and all digits are written.
    """
    if tensor.dtype in OPAQUE:
        return measure_now(tensor), ""
    tensor = whole_bytes(tensor)
    found = None if double else _in_one_reading(tensor)
    if found is not None:
        return found
    measured = measure_now(tensor, double)
    return measured, sketch_of(tensor, measured, double)


def sketch_of(tensor: torch.Tensor, measured: Measured, double: bool) -> str:
    """The sketch alone. Of one element the statistics tell all there is to know."""
    tensor = whole_bytes(tensor)
    if tensor.dtype in OPAQUE or tensor.numel() < 2 or repeats_too_much(tensor):
        return ""
    return sketch_text(sketch_now(tensor, measured.extreme, double))


def _in_one_reading(tensor: torch.Tensor) -> tuple[Measured, str] | None:
    size, dtype = tensor.numel(), tensor.dtype
    if size < 2 or dtype not in tensor_kernels.kernels or repeats_too_much(tensor):
        return None
    read = tensor_kernels.read_once(tensor.reshape(-1), sketched=True)
    if read is None:
        return None
    measured = measured_sums(read.low, read.high, (read.total, read.squares), size, dtype, False)
    limit = zero_from(dtype)
    if limit is not None and not measured.extreme < limit:  # what fills masks counts as zero
        return measured, sketch_of(tensor, measured, False)
    return measured, sketch_text(read.projections)
