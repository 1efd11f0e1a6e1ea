"""Checksums of a tensor's bytes: equal bits give equal text, so two runs compare exactly."""

from __future__ import annotations

import numpy as np
import torch

from msprobe_core.values.crc import crc32
from msprobe_core.values.plain import is_simple

# What most values are; numpy takes them as they lie.
_DIRECT = frozenset({torch.float32, torch.float64, torch.float16, torch.int64})


def crc32_of(tensor: torch.Tensor) -> str:
    """CRC-32 of the bytes in row-major order, as 8 hexadecimal digits."""
    if tensor.dtype in _DIRECT and is_simple(tensor) and tensor.is_contiguous():
        return f"{crc32(tensor.detach().numpy()):08x}"
    return f"{crc32(_bytes(tensor).data):08x}"


def xor_of(tensor: torch.Tensor) -> str:
    """XOR of the 32-bit words of the bytes in row-major order (zero-padded), 8 digits."""
    data = _bytes(tensor)
    padding = -data.size % 8
    if padding:
        data = np.concatenate([data, np.zeros(padding, dtype=np.uint8)])
    folded = int(np.bitwise_xor.reduce(data.view(np.uint64)))
    return f"{(folded ^ (folded >> 32)) & 0xFFFFFFFF:08x}"


def _bytes(tensor: torch.Tensor) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    flat = tensor.detach().resolve_conj().resolve_neg().contiguous().cpu().reshape(-1)
    if flat.numel() == 0:
        return np.zeros(0, dtype=np.uint8)
    data: np.ndarray[tuple[int], np.dtype[np.uint8]] = flat.view(torch.uint8).numpy()
    return data
