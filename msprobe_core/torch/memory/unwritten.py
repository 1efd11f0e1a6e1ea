"""Memory that nobody has written yet: what `empty` returned, what a call is about to overwrite.

Its elements are what happened to lie there, so two equal runs differ in them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

ALLOCATING: frozenset[Callable[..., Any]] = frozenset(
    function
    for owner, names in (
        (torch, "empty empty_like empty_strided empty_permuted"),
        (torch.Tensor, "new_empty new_empty_strided"),
    )
    for function in (getattr(owner, name, None) for name in names.split())
    if function is not None
)
"""Functions whose result holds memory that was not written."""

_OVERWRITING = frozenset(
    """
    bernoulli_ cauchy_ copy_ exponential_ fill_ geometric_ log_normal_ normal_ random_ uniform_
    zero_
    """.split()
)
"""Methods that write every element of their tensor and read none."""


@dataclass(frozen=True, slots=True)
class Overwritten:
    """An argument that a call fills whatever it held before."""

    tensor: torch.Tensor


def mark_overwritten(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call with those that it only fills marked."""
    if name in _OVERWRITING and args and isinstance(args[0], torch.Tensor):
        args = (Overwritten(args[0]), *args[1:])
    out = kwargs.get("out") if kwargs else None
    if isinstance(out, torch.Tensor):
        kwargs = {**kwargs, "out": Overwritten(out)}
    elif isinstance(out, (tuple, list)):
        kwargs = {**kwargs, "out": [Overwritten(each) for each in out]}
    return args, kwargs


class UnwrittenMemory:
    """The storages that were allocated without being written, until their version changes."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[StorageWeakRef, int]] = {}

    def add(self, tensor: torch.Tensor) -> None:
        """Note that a tensor has just been allocated."""
        storage = tensor.untyped_storage()
        version = -1 if tensor.is_inference() else tensor._version
        self._known[storage._cdata] = (StorageWeakRef(storage), version)

    def holds(self, tensor: torch.Tensor, taken: bool) -> bool:
        """Whether nobody has written a tensor; `taken` tells that a call is about to take it.

        Inference tensors have no version: their mark goes with the first call that takes them.
        """
        if not self._known:
            return False
        at = tensor.untyped_storage()._cdata
        known = self._known.get(at)
        if known is None:
            return False
        if tensor.is_inference():
            if taken:
                del self._known[at]
            return not known[0].expired()
        if known[0].expired() or known[1] != tensor._version:
            del self._known[at]
            return False
        return True

    def written(self, tensor: torch.Tensor) -> None:
        """Note that a tensor may have been written with its version left as it was."""
        if self._known:
            self._known.pop(tensor.untyped_storage()._cdata, None)

    def clear(self) -> None:
        """Forget everything."""
        self._known.clear()
