"""Which recorded value a tensor is: the output that made what lies in its memory.

A tensor is found by its storage, the part of it that it covers, and the version, so views and
changes in place lead to the value that they show. Storages are held weakly: one that takes over
the place of another is another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import ref

import torch

_MOST_PARTS = 64  # a buffer that is filled piece by piece
_UNKNOWN = (0, 2**63)
_is_gone = torch.UntypedStorage._expired
_let_go: Callable[[int], None] = torch.UntypedStorage._free_weak_ref


class _Made(NamedTuple):
    """An output: its value name, the tensor, its version, and the bytes that it covers.

    The bytes are left open while it is the only one of its storage.
    """

    name: str
    tensor: ref[torch.Tensor]
    version: int
    extent: tuple[int, int] | None


class _Storage:
    """The outputs in one storage, in order, and a weak reference that is freed with this."""

    __slots__ = ("made", "weak")

    def __init__(self, weak: int, made: list[_Made]) -> None:
        self.weak, self.made = weak, made

    def __del__(self) -> None:
        _let_go(self.weak)


class Flow:
    """The outputs of one step by storage."""

    def __init__(self) -> None:
        self._known: dict[int, _Storage] = {}

    def keep(self, tensor: torch.Tensor, name: str) -> None:
        """Note that a tensor is the output of that value name.

        The first output that shows a tensor at a version has made it: a module returns what a
        call inside it made.
        """
        storage = tensor.untyped_storage()
        at = storage._cdata
        known = self._known.get(at)
        version = 0 if tensor.is_inference() else tensor._version
        if known is None or _is_gone(known.weak):
            made = _Made(name, ref(tensor), version, None)
            weak: Any = storage._weak_ref()
            self._known[at] = _Storage(weak, [made])
        elif not any(m.version == version and m.tensor() is tensor for m in known.made):
            self._add_part(known, tensor, name, version)

    def source_of(self, tensor: torch.Tensor) -> str | None:
        """The value name of the output that a tensor is or shows; None when none is known."""
        known = self._known.get(tensor.untyped_storage()._cdata)
        if known is None or _is_gone(known.weak):
            return None
        if len(known.made) == 1:
            return known.made[0].name
        overlapping = [m for m in known.made if _overlap(m.extent, _extent(tensor))]
        if not overlapping:
            return None
        newest = max(m.version for m in overlapping)
        latest = [m for m in overlapping if m.version == newest]
        return next((m for m in latest if m.tensor() is tensor), latest[0]).name

    def overwritten(self, tensor: torch.Tensor) -> None:
        """Forget who made a tensor that was filled with its version left as it was."""
        self._known.pop(tensor.untyped_storage()._cdata, None)

    def let_go(self, tensor: torch.Tensor) -> None:
        """Refer to a tensor object no longer."""
        known = self._known.get(tensor.untyped_storage()._cdata)
        if known is not None:
            known.made = [made for made in known.made if made.tensor() is not tensor]

    def clear(self) -> None:
        """Forget everything."""
        self._known.clear()

    @staticmethod
    def _add_part(known: _Storage, tensor: torch.Tensor, name: str, version: int) -> None:
        start, end = extent = _extent(tensor)
        kept = []
        for made in known.made:
            covered = made.extent or _extent_of(made.tensor())
            if made.version >= version or covered[0] < start or covered[1] > end:
                kept.append(made._replace(extent=covered))
        kept.append(_Made(name, ref(tensor), version, extent))
        known.made = kept[-_MOST_PARTS:]


def _overlap(one: tuple[int, int] | None, other: tuple[int, int]) -> bool:
    return one is None or (one[0] < other[1] and other[0] < one[1])


def _extent_of(tensor: torch.Tensor | None) -> tuple[int, int]:
    return _UNKNOWN if tensor is None else _extent(tensor)  # it may be gone, its views not


def _extent(tensor: torch.Tensor) -> tuple[int, int]:
    """The first byte that a tensor covers, and the one after its last; counted in its storage."""
    size = tensor.element_size()
    start = int(tensor.storage_offset()) * size
    if tensor.is_contiguous():
        return start, start + tensor.numel() * size
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    last = sum(max(int(length) - 1, 0) * step for length, step in steps)
    return start, start + (last + 1) * size
