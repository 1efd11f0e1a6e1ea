"""Reads the storage of a tensor and leaves no Python storage behind.

In recent versions of torch a Python storage lives as long as the storage that it shows, and counts
as one of its users. Autograd adds to a gradient in place where nobody else uses its storage, and in
new memory where somebody has asked for it, for as long as it lives. So a storage is read through a
Python storage of our own, which shows another one each time, and an empty one while it waits.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

_python_storage: Callable[[torch.Tensor], torch.UntypedStorage] = (
    torch._C.TensorBase.untyped_storage
)
_address: Callable[[torch.Tensor], int] | None = getattr(torch._C, "_storage_address", None)
_users: Callable[[int], int] | None = getattr(torch._C, "_storage_Use_Count", None)


def _counts_as_user() -> bool:
    """Whether a storage that was asked for in Python has one user more from then on."""
    if _address is None or _users is None or not hasattr(torch.UntypedStorage, "_set_cdata"):
        return False
    tensor = torch.empty(1, device="cpu")
    _python_storage(tensor)
    return _users(_address(tensor)) > 1


class Storages:
    """Lends Python storages to look through; any thread, and any number at a time."""

    def __init__(self, through_own: bool) -> None:
        self._through_own = through_own
        self._nothing = torch.UntypedStorage(0, device="cpu")
        self._idle: int = self._nothing._cdata
        self._free: list[torch.UntypedStorage] = []

    def lend(self, tensor: torch.Tensor) -> torch.UntypedStorage:
        """A Python storage that shows a tensor's, to be taken back before anything else runs.

        Raises RuntimeError for tensors that have no storage.
        """
        if not self._through_own or _address is None:
            return _python_storage(tensor)
        address = _address(tensor)
        try:
            storage = self._free.pop()
        except IndexError:
            storage = torch.UntypedStorage(0, device="cpu")
        storage._set_cdata(address)
        return storage

    def take_back(self, storage: torch.UntypedStorage) -> None:
        """Let go of the storage that is shown. Nothing is done for those of a tensor's own."""
        if self._through_own:
            storage._set_cdata(self._idle)
            self._free.append(storage)


_STORAGES = Storages(_counts_as_user())
lend_storage, take_back = _STORAGES.lend, _STORAGES.take_back


def storage_key(tensor: torch.Tensor) -> int:
    """What tells a storage from all others that live: the address of torch's own object."""
    return _python_storage(tensor)._cdata if _address is None else _address(tensor)


def storage_size(tensor: torch.Tensor) -> int:
    """The bytes of a tensor's storage. Raises RuntimeError where it has none."""
    storage = lend_storage(tensor)
    try:
        return storage.nbytes()
    finally:
        take_back(storage)


def storage_place(tensor: torch.Tensor) -> int:
    """Where the elements of a tensor's storage lie; 0 for one without memory.

    Raises RuntimeError where torch gives no access to it.
    """
    storage = lend_storage(tensor)
    try:
        return storage.data_ptr()
    finally:
        take_back(storage)
