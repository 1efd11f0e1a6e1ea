"""Numbers of tensors on an accelerator by one fused kernel, read back once for all.

Where Triton is installed a tensor takes one kernel, or two when several programs share it, and
Python never waits. torch's own reductions (`deferred`) measure what the kernel does not: float64,
formats of eight bits and complex ones, and devices that are not CUDA's.
"""

from __future__ import annotations

import importlib
import importlib.util
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from math import isfinite, nan
from types import ModuleType
from typing import Protocol

import torch

from msprobe_core.report import say
from msprobe_core.torch.measure.numbers import (
    EMPTY,
    Measured,
    measured,
    measured_nonfinite,
    measured_sums,
)
from msprobe_core.torch.measure.sketch import zero_from
from msprobe_core.values.text import sketch_text

_FLOATING = frozenset({torch.float32, torch.float16, torch.bfloat16})
_WHOLE = frozenset({torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool})
DEVICES = frozenset({"cuda"})
"""Kinds of devices that the kernel is for, those of AMD among them; it sums in float64."""
_FEWEST_ROWS = 16
"""Rows of 1016 elements that a program measures at least: fewer are not worth another one."""
_AT_ONCE = 4096  # rows of results in one piece of memory
_MOST_DIMENSIONS = 4
_WARPS = 8  # with four the sums of 1024 columns do not fit into registers
_refused: set[str] = set()


class FusedNumbers:
    """Numbers that a kernel writes into a table; `found` and `sketch` once they are read back."""

    __slots__ = ("_all_digits", "_dtype", "_size", "_sketched", "found", "sketch")

    def __init__(self, tensor: torch.Tensor, all_digits: bool, sketched: bool) -> None:
        self._dtype, self._size = tensor.dtype, tensor.numel()
        self._all_digits, self._sketched = all_digits, sketched
        self.found: Measured = EMPTY
        self.sketch = ""

    def take(self, fields: list[float], bits: list[int]) -> None:
        """Take what the kernel wrote, as float64 and as its bits."""
        if self._sketched:
            self.sketch = sketch_text(fields[6:])
        if self._dtype in _FLOATING:
            self.found = self._floating(*fields[:6])
        elif self._dtype is torch.bool:
            self.found = measured([bool(bits[0]), bool(bits[1]), None, None], (0, 0), None)
        else:
            self.found = measured([bits[0], bits[1], None, None], (0, 0), None)

    def _floating(
        self, high: float, low: float, total: float, squares: float, nans: float, infinite: float
    ) -> Measured:
        dtype, sums = self._dtype, (total, squares)
        if isfinite(squares):
            return measured_sums(low, high, sums, self._size, dtype, self._all_digits)
        if nans:
            low = high = nan
        counts = (int(nans), int(infinite))
        return measured_nonfinite(low, high, sums, self._size, dtype, counts)


class KernelRow(Protocol):
    """Who takes what the kernel wrote of one tensor."""

    def take(self, fields: list[float], bits: list[int]) -> None:
        """Take the fields as float64 and as their bits."""


class FusedTable:
    """The rows of numbers that kernels have written on one device since it was last read."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._pieces: list[torch.Tensor] = []
        self._rows: list[KernelRow] = []

    def measure(self, tensor: torch.Tensor, double: bool, sketched: bool) -> FusedNumbers:
        """Measure a tensor of this device into the next row, without waiting for it."""
        numbers = FusedNumbers(tensor, double, sketched and tensor.numel() > 1)
        self.measure_into(numbers, tensor, sketched)
        return numbers

    def measure_into(self, taker: KernelRow, tensor: torch.Tensor, sketched: bool) -> None:
        """Measure a tensor of this device; `taker` gets the numbers when they are read back."""
        kernels = _kernels()
        assert kernels is not None
        piece, row = divmod(len(self._rows), _AT_ONCE)
        fields: int = kernels.FIELDS
        with _on(self._device):
            if piece == len(self._pieces):
                self._pieces.append(self._new(_AT_ONCE, fields))
            sketched = sketched and tensor.numel() > 1
            _launch(kernels, tensor, self._pieces[piece][row], sketched)
        self._rows.append(taker)

    def read_back(self) -> None:
        """Fetch all rows in one transfer."""
        if not self._rows:
            return
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)  # kernels may have run on several streams
        pieces = self._pieces
        table = (pieces[0] if len(pieces) == 1 else torch.cat(pieces))[: len(self._rows)].cpu()
        bits = table.view(torch.int64)
        for numbers, fields, as_bits in zip(self._rows, table.tolist(), bits.tolist(), strict=True):
            numbers.take(fields, as_bits)
        self._pieces, self._rows = [], []

    def _new(self, rows: int, fields: int) -> torch.Tensor:
        return torch.empty((rows, fields), dtype=torch.float64, device=self._device)


def is_fused(tensor: torch.Tensor) -> bool:
    """Whether the kernel measures a strided tensor: its device, format and flags allow it."""
    return (
        tensor.device.type in DEVICES
        and tensor.device.type not in _refused
        and (tensor.dtype in _FLOATING or tensor.dtype in _WHOLE)
        and tensor.numel() > 0
        and not tensor.is_neg()
        and not tensor._is_zerotensor()
        and _kernels() is not None
    )


def refuse(device: torch.device, error: Exception) -> None:
    """Use the kernel on this kind of device no more, and say so once."""
    _refused.add(device.type)
    say(
        f"Triton failed on {device.type}: {error}; torch's own reductions measure there from now on"
    )


@cache
def _kernels() -> ModuleType | None:
    if importlib.util.find_spec("triton") is None:
        return None
    try:
        return importlib.import_module("msprobe_core.torch.measure.fused_kernel")
    except Exception as error:  # an installation that does not fit; the numbers come without it
        say(f"Triton cannot be used: {error}; torch's own reductions measure on devices")
        return None


def _on(device: torch.device) -> AbstractContextManager[object]:
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def _launch(kernels: ModuleType, tensor: torch.Tensor, row: torch.Tensor, sketched: bool) -> None:
    contiguous = tensor.is_contiguous()
    layout = [] if contiguous else _layout(tensor)
    if len(layout) > _MOST_DIMENSIONS:
        tensor, contiguous, layout = tensor.contiguous(), True, []
    padded = [(1, 0)] * (_MOST_DIMENSIONS - len(layout)) + layout
    rows, rest = divmod(tensor.numel(), kernels.COLUMNS)
    each = max(_FEWEST_ROWS, -(-rows // kernels.MOST_PROGRAMS))
    programs = max(1, -(-rows // each))
    floating = tensor.dtype in _FLOATING
    out, step = row, 1
    if programs > 1:
        step = kernels.MOST_PROGRAMS
        out = torch.empty(kernels.FIELDS * step, dtype=torch.float64, device=tensor.device)
    kernels.measure[(programs,)](
        tensor.view(torch.uint8) if tensor.dtype is torch.bool else tensor,
        out,
        rows,
        rest,
        each,
        *(size for size, _ in padded[1:]),
        *(stride for _, stride in padded),
        STEP=step,
        LONG=_span(tensor) >= 2**31,
        CONTIGUOUS=contiguous,
        FLOATING=floating,
        LIMIT=zero_from(tensor.dtype) or 0.0,
        SKETCH=sketched,
        num_warps=_WARPS,
        enable_fp_fusion=True,
    )
    if programs > 1:
        kernels.combine[(1,)](out, row, programs, FLOATING=floating, enable_fp_fusion=True)


def _span(tensor: torch.Tensor) -> int:
    """How many elements the tensor has, or its memory from the first to the last of them."""
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    return max(tensor.numel(), sum((size - 1) * stride for size, stride in steps) + 1)


def _layout(tensor: torch.Tensor) -> list[tuple[int, int]]:
    """Sizes and strides with dimensions merged that follow each other in memory."""
    merged: list[tuple[int, int]] = []
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        if merged and merged[-1][1] == size * stride:
            merged[-1] = (merged[-1][0] * size, stride)
        elif size > 1:
            merged.append((size, stride))
    return merged
