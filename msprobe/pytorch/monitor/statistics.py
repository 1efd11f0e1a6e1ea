"""The statistics that users' configurations call `ops`, of one tensor."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from msprobe_core.torch.monitor.odd_tensors import is_freed

OPS = ("norm", "min", "max", "mean", "zeros", "nans", "id", "shape", "dtype")


def measure(tensor: torch.Tensor, ops: Sequence[str], eps: float) -> list[object]:
    """The statistics in the order of `ops`: mean and norm in float64, `zeros` as a share.

    What a tensor has no number for (an empty one, one of the meta device or of freed memory, the id
    of more than one element) is NaN.
    """
    local = getattr(tensor, "to_local", lambda: tensor)().detach()
    if local.layout is not torch.strided:  # what is not stored of a sparse gradient is zero
        local = local.to_dense()
    return [_one(local, op, eps) for op in ops]


def _one(tensor: torch.Tensor, op: str, eps: float) -> object:
    if op == "shape":
        return list(tensor.shape)
    if op == "dtype":
        return str(tensor.dtype)
    if tensor.is_meta or is_freed(tensor) or not tensor.numel() or (op == "id" and tensor.ndim):
        return float("nan")
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
