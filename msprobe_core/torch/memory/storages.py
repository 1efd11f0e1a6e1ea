"""Tensors that cover one storage completely hold the same elements: views, detached gradients.

A storage is known by a weak reference of its own, which no later storage can take over.
"""

from __future__ import annotations

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from msprobe_core.torch.measure.numbers import Measured


class Storage:
    """What was found of one storage; `sketch` holds for its elements in C order."""

    __slots__ = ("alive", "bytes", "dtype", "measured", "sketch", "version")

    def __init__(self, alive: StorageWeakRef, version: int, dtype: torch.dtype) -> None:
        self.alive, self.version, self.dtype = alive, version, dtype
        self.measured: Measured | None = None
        self.sketch: str | None = None
        self.bytes: dict[torch.Size, str] = {}


class StorageBook:
    """Remembers what was found of whole storages, by version; a negative version is not kept."""

    def __init__(self) -> None:
        self._known: dict[int, Storage] = {}

    def whole(self, tensor: torch.Tensor, version: int) -> Storage | None:
        """What is known of the tensor's elements; `measured` is None until it is set.

        None when the tensor does not cover a storage of its own.
        """
        return self._storage(tensor, version, make=True)

    def bytes_of(self, tensor: torch.Tensor, version: int) -> str | None:
        """Checksum and file of the same elements in the same order and shape."""
        known = self._storage(tensor, version) if tensor.is_contiguous() else None
        return None if known is None else known.bytes.get(tensor.shape)

    def keep_bytes(self, tensor: torch.Tensor, version: int, text: str) -> None:
        """Remember checksum and file of a tensor's elements."""
        known = self._storage(tensor, version, make=True) if tensor.is_contiguous() else None
        if known is not None:
            known.bytes[tensor.shape] = text

    def distrust(self, tensor: torch.Tensor) -> None:
        """Forget a storage: its elements may change without a sign."""
        self._known.pop(tensor.untyped_storage()._cdata, None)

    def clear(self) -> None:
        """Forget everything."""
        self._known.clear()

    def _storage(self, tensor: torch.Tensor, version: int, make: bool = False) -> Storage | None:
        if version < 0 or 0 in tensor.stride() or tensor.storage_offset():
            return None
        storage = tensor.untyped_storage()
        if storage.nbytes() != tensor.numel() * tensor.element_size():
            return None
        known = self._known.get(storage._cdata)
        if (
            known is not None
            and known.version == version
            and known.dtype is tensor.dtype
            and not known.alive.expired()
        ):
            return known
        if not make:
            return None
        known = Storage(StorageWeakRef(storage), version, tensor.dtype)
        self._known[storage._cdata] = known
        return known
