"""Gives pages of mapped files back to the system, so that what was read does not add up.

Only an advice: the values stay what they are, and are read from disk again when they are used.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Iterable

import torch

_PAGE_OUT = 21  # MADV_PAGEOUT, Linux 5.4; unlike MADV_DONTNEED it can lose nothing


def give_back(tensors: Iterable[torch.Tensor]) -> None:
    """Let the system take the pages of these tensors' storages; does nothing outside Linux."""
    if not sys.platform.startswith("linux"):
        return
    advise = ctypes.CDLL(None).madvise
    for tensor in tensors:
        storage = tensor.untyped_storage()
        start = storage.data_ptr()
        begin = start - start % mmap.PAGESIZE
        length = start + storage.nbytes() - begin
        advise(ctypes.c_void_p(begin), ctypes.c_size_t(length), _PAGE_OUT)
