"""What was found of the elements of a whole storage: views of all of it hold the same ones."""

from __future__ import annotations

import torch

from msprobe_core.torch.measure.numbers import Measured


class WholeStorage:
    """Numbers of one storage in one epoch; `sketch` holds for its elements in C order."""

    __slots__ = ("bytes", "dtype", "measured", "sketch")

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.measured: Measured | None = None
        self.sketch: str | None = None
        self.bytes: dict[torch.Size, tuple[str, str | None]] = {}
        """By shape: the checksum's text, and the file that the elements were saved in, if any."""


def covers_all(tensor: torch.Tensor, size: int) -> bool:
    """Whether a tensor shows each element of a storage of so many bytes exactly once."""
    if tensor.numel() * tensor.element_size() != size or tensor.storage_offset():
        return False
    if tensor.is_contiguous():
        return True
    expected = 1
    steps = zip(tensor.stride(), tensor.shape, strict=True)
    for stride, length in sorted(each for each in steps if each[1] > 1):
        if stride != expected:
            return False
        expected *= length
    return True
