"""Numbers of each row of a tensor, as text beside its record: what one token has in a value.

Runs that compute the same tokens in other batches or forward passes compare by them.
"""

from __future__ import annotations

from base64 import b64encode

import torch

from msprobe_core.format import ROW_PROJECTIONS
from msprobe_core.torch.measure.sketch import column_signs

MOST_ROWS = 8192
"""Rows up to which they are written: with 43 characters each, 350 kB a value."""
_BLOCK = 1 << 24  # elements that are widened at a time: logits of a batch are larger than memory


def rows_text(tensor: torch.Tensor) -> str:
    """The rows of a strided tensor as a member of its record; empty where it has none to tell.

    Of numbers with a point all dimensions but the last make up rows. Of each: Max, Min, Mean, Norm
    and the projections, float32. Integers, which are ids and positions, stand there themselves,
    int64. Little-endian, in base64.
    """
    dtype = tensor.dtype
    if dtype is torch.bool or dtype.is_complex or not tensor.numel():
        return ""
    if not dtype.is_floating_point:
        return "" if tensor.numel() > MOST_ROWS else _text(tensor.reshape(-1).to(torch.int64))
    if tensor.ndim < 2 or tensor.numel() > MOST_ROWS * tensor.shape[-1]:
        return ""
    table = tensor.reshape(-1, tensor.shape[-1])
    step = max(1, _BLOCK // table.shape[1])
    return _text(torch.cat([_numbers(table[at : at + step]) for at in range(0, len(table), step)]))


def _numbers(rows: torch.Tensor) -> torch.Tensor:
    """Rows × ROW_NUMBERS."""
    wide = rows.to(torch.float32)
    signs = column_signs(wide.shape[1], wide.device)[:ROW_PROJECTIONS]
    told = (wide.amax(1), wide.amin(1), wide.mean(1), torch.linalg.vector_norm(wide, dim=1))
    return torch.cat((torch.stack(told, dim=1), wide @ signs.T), dim=1)


def _text(numbers: torch.Tensor) -> str:
    packed = numbers.contiguous().cpu().numpy()
    little = packed.astype(packed.dtype.newbyteorder("<"), copy=False)
    return f', "rows": "{b64encode(little.tobytes()).decode()}"'
