"""The statistics that users' configurations call `ops`, of one tensor."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from msprobe_core.torch.measure.strided import shape_of
from msprobe_core.torch.monitor.odd_tensors import is_freed

OPS = ("norm", "min", "max", "mean", "zeros", "nans", "id", "shape", "dtype")

_WITHOUT_REDUCTIONS = frozenset(
    dtype
    for name in (
        *("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
        *("uint16", "uint32", "uint64", "bool"),
    )
    if (dtype := getattr(torch, name, None)) is not None  # older releases have fewer
)


def measure(tensor: torch.Tensor, ops: Sequence[str], eps: float) -> list[object]:
    """The statistics in the order of `ops`: mean and norm in float64, `zeros` as a share.

    Complex numbers are measured by their magnitude.

    Of a nested tensor its elements are measured; its shape is -1 where its members differ.

    What a tensor has no number for (an empty one, one of the meta device or of freed memory, the id
    of more than one element) is NaN.
    """
    local = getattr(tensor, "to_local", lambda: tensor)().detach()
    plain = _plain(local)
    return [shape_of(local) if op == "shape" else _one(plain, op, eps) for op in ops]


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.is_nested:
        members = [member.flatten() for member in tensor.unbind()]
        return torch.cat(members) if members else torch.empty(0, dtype=tensor.dtype)
    if tensor.layout is not torch.strided:  # what is not stored of a sparse gradient is zero
        return tensor.to_dense()
    return tensor


def _one(tensor: torch.Tensor, op: str, eps: float) -> object:
    if op == "dtype":
        return str(tensor.dtype)
    if tensor.is_meta or is_freed(tensor) or not tensor.numel() or (op == "id" and tensor.ndim):
        return float("nan")
    tensor = _reducible(tensor)
    if op in ("norm", "mean"):
        wide = tensor.to(torch.float64)
        return (torch.linalg.vector_norm(wide) if op == "norm" else wide.mean()).item()
    if op == "zeros":
        return (tensor.abs() < eps).double().mean().item()
    if op == "nans":
        return int(tensor.isnan().sum().item())
    if op == "id":
        return tensor.item()
    return float((tensor.min() if op == "min" else tensor.max()).item())


def _reducible(tensor: torch.Tensor) -> torch.Tensor:
    """Values that torch can compare and add up; it has no such functions for all formats."""
    if tensor.is_quantized:
        return tensor.dequantize()
    if tensor.is_complex():
        return tensor.to(torch.complex128).abs()
    return tensor.double() if tensor.dtype in _WITHOUT_REDUCTIONS else tensor
