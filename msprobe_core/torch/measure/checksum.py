"""Checksums of a tensor's bytes: equal bits give equal text, so two runs compare exactly."""

from __future__ import annotations

import numpy as np
import torch

from msprobe_core.torch.measure.elements import bytes_of
from msprobe_core.torch.measure.strided import is_simple, whole_bytes
from msprobe_core.values.crc import crc32


def crc32_of(tensor: torch.Tensor) -> str:
    """CRC-32 of the bytes in row-major order, as 8 hexadecimal digits."""
    values = _row_major(tensor)
    return f"{crc32(bytes_of(values)):08x}"


def crc32_of_rows(tensor: torch.Tensor) -> list[str]:
    """The CRC-32 of each row along the first dimension."""
    values = _row_major(tensor)
    data, count = bytes_of(values), values.shape[0]
    share = len(data) // count
    return [f"{crc32(data[share * row : share * (row + 1)]):08x}" for row in range(count)]


def xor_of(tensor: torch.Tensor) -> str:
    """XOR of the 64-bit words of the bytes in row-major order (zero-padded), as msprobe writes it:
    `0x` and 16 digits.
    """
    values = _row_major(tensor)
    data = np.frombuffer(bytes_of(values), dtype=np.uint8)
    padding = -data.size % 8
    if padding:
        data = np.concatenate([data, np.zeros(padding, dtype=np.uint8)])
    return f"0x{int(np.bitwise_xor.reduce(data.view('<u8'))):016x}"


def _row_major(tensor: torch.Tensor) -> torch.Tensor:
    if is_simple(tensor) and tensor.is_contiguous():
        return tensor
    tensor = whole_bytes(tensor)
    return tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
