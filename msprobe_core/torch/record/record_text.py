"""The text of a tensor's record: its head, what stands for missing numbers, and additions."""

from __future__ import annotations

import torch

from msprobe_core.torch.measure.on_devices import Pending
from msprobe_core.torch.measure.strided import shape_of
from msprobe_core.values.arguments import Scalars
from msprobe_core.values.text import quoted, typed

NO_NUMBERS = ', "Max": null, "Min": null, "Mean": null, "Norm": null'
UNWRITTEN = ', "unwritten": true'
FUSED = ', "fused": true'


class PendingTensor:
    """A record whose numbers still lie on a device."""

    __slots__ = ("head", "numbers", "tail")

    def __init__(self, head: str, numbers: Pending, tail: str) -> None:
        self.head, self.numbers, self.tail = head, numbers, tail

    @property
    def abnormal(self) -> bool:
        """Whether an element is non-finite or as large as its dtype can hold."""
        return self.numbers.found.abnormal

    def __str__(self) -> str:
        measured, sketched = self.numbers.found, self.numbers.sketch
        return f"{self.head}{measured.text}{sketched}{self.tail}{measured.counts}}}"


TORCH_SCALARS: Scalars = {
    torch.Size: lambda value: typed("torch.Size", str(list(value))),
    torch.dtype: lambda value: typed("torch.dtype", quoted(str(value))),
    torch.device: lambda value: typed("torch.device", quoted(str(value))),
    torch.memory_format: lambda value: typed("torch.memory_format", quoted(str(value))),
}


def extended(record: str | PendingTensor, members: str) -> str | PendingTensor:
    """A record with members more."""
    if isinstance(record, PendingTensor):
        return PendingTensor(record.head, record.numbers, record.tail + members)
    return f"{record[:-1]}{members}}}"


def head_of(dtype: torch.dtype, shape: list[int] | None) -> str:
    """The members that each record begins with; None for a shape that is not known."""
    sizes = "null" if shape is None else shape
    return f'{{"type": "torch.Tensor", "dtype": "{dtype}", "shape": {sizes}'


def unwritten_record(tensor: torch.Tensor) -> str:
    """The record of memory that nobody has written."""
    grad = "true" if tensor.requires_grad else "false"
    head = head_of(tensor.dtype, shape_of(tensor))
    return f'{head}{NO_NUMBERS}, "requires_grad": {grad}{UNWRITTEN}}}'


def bare_record(tensor: torch.Tensor) -> str:
    """The record of a tensor that cannot be measured."""
    try:
        head = head_of(tensor.dtype, list(tensor.shape))
    except Exception:  # the shape itself may be what cannot be read
        return "null"
    return f'{head}{NO_NUMBERS}, "requires_grad": false}}'
