"""One record for each storage, with one epoch that all who remember something of it ask.

The epoch rises when the memory may hold something else than before: torch's version counter
moved, a call, a collective or an operator was seen to write, its place or size changed, or a
sample of its bytes did. What was found in an earlier epoch is not used again.

A storage is known by a weak reference of its own, which no later storage can take over. Tensors
that share one may count versions separately (`.data`, `set_`, buckets of gradients); each of them
that shows another version than the last one asked raises the epoch, so that numbers are taken anew.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch._C import _functorch

from msprobe_core.torch.measure.storages import lend_storage, storage_key, take_back
from msprobe_core.torch.measure.strided import PLAIN, is_simple
from msprobe_core.torch.memory.views import WHOLE, Extent, View, inside, view_of
from msprobe_core.torch.memory.whole import WholeStorage
from msprobe_core.values.crc import crc32

_SAMPLED = 16
"""Bytes that are looked at before something is used again: a write of the whole leaves all of them
as they were in no practical case, one of a sixteenth part in one piece touches one of them.
"""
_MOST_SHOWN = 64  # ways to show one storage: a buffer that is filled piece by piece
_INFERENCE = -1
_is_gone: Callable[[int], bool] = getattr(torch.UntypedStorage, "_expired")  # noqa: B009 - private: torch's stubs have it not
_let_go: Callable[[int], None] = torch.UntypedStorage._free_weak_ref
_memory_view = ctypes.pythonapi.PyMemoryView_FromMemory
_memory_view.restype, _memory_view.argtypes = (
    ctypes.py_object,
    (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int),
)
_READ = 0x100


class Made(NamedTuple):
    """A write: the value name of the output that it was (None when no output was recorded), its
    epoch, how the output shows the storage, and the bytes that are its.
    """

    name: str | None
    epoch: int
    view: View | None
    extent: Extent


class Shown(NamedTuple):
    """A storage as the output `name` of a call showed it; whether that call has written it.

    The name is None of what was read before any call had put it out, as data and parameters.
    """

    name: str | None
    epoch: int
    view: View
    writes: bool


new_shown: Callable[[type[Shown], tuple[object, ...]], Shown] = tuple.__new__  # twice as fast


class Memory:
    """What is known of one storage.

    `made` lists its writes in order, `shown` all outputs that showed it, also of calls that leave
    no values, and `objects` has these by tensor; `records` holds what was found in this epoch.
    """

    __slots__ = (
        "_address",
        "_arriving",
        "_given_away",
        "_sample",
        "_view",
        "_weak",
        "epoch",
        "is_open",
        "made",
        "objects",
        "records",
        "shown",
        "size",
        "unwritten",
        "version",
        "whole",
    )

    size: int
    """Bytes of the storage."""
    version: int
    """The version of the tensor that was last looked at."""
    is_open: bool
    """Whether its elements may change at any time without a sign: nothing of it is kept."""

    def __init__(
        self, storage: torch.UntypedStorage, tensor: torch.Tensor, simple: bool, closely: bool
    ) -> None:
        weak: Any = storage._weak_ref()
        self._weak: int = weak
        self.epoch = 0
        self.made: list[Made] = []
        self.shown: list[Shown] = []
        self.objects: dict[int, Shown] = {}
        """By the identity of the tensor, which another one may have later: see `view`."""
        self.records: dict[object, Any] = {}
        self.unwritten = False
        """Whether nobody has written it since it was allocated."""
        self.whole: WholeStorage | None = None
        self._arriving: list[object] = []
        self._given_away = False
        self._address, self.size = 0, -1
        self._view: memoryview | None = None
        self._sample: bytes | None = None
        self._note(storage, tensor, simple, closely)

    def __del__(self) -> None:
        _let_go(self._weak)

    @property
    def has_place(self) -> bool:
        """Whether the elements can be read where they lie: of a plain tensor in a tracer not."""
        return bool(self._address or not self.size)

    @property
    def is_gone(self) -> bool:
        """Whether the storage was freed."""
        return _is_gone(self._weak)

    def is_as_sampled(self) -> bool:
        """Whether the bytes that are looked at are what they were. The storage must be there."""
        return self._view is None or self._view.tobytes() == self._sample

    def ends_within(self, tensor: torch.Tensor) -> bool:
        """Whether the storage is too small for a tensor: it was freed, or cut."""
        if tensor.is_contiguous() and tensor.numel() * tensor.element_size() == self.size:
            return False
        return view_of(tensor).extent[1] > self.size

    def has_other_names(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor is a part of something that counts versions by itself.

        A view knows its base. A part that has none was cut out behind autograd's back.
        """
        return tensor._base is None and tensor.numel() * tensor.element_size() != self.size

    def look(
        self,
        storage: torch.UntypedStorage,
        tensor: torch.Tensor,
        simple: bool,
        closely: bool = False,
    ) -> None:
        """Raise the epoch if the memory shows that it was written; `closely` in any byte."""
        if self._arriving and all(_has_arrived(work) for work in self._arriving):
            self.arrived()
        before, sample = (self._address, self.size, self.version), self._sample
        self._note(storage, tensor, simple, closely)
        fresh = self._sample
        if before != (self._address, self.size, self.version) or (
            sample is not None and sample != fresh
        ):
            self.written()
            self._sample = fresh

    def note_write(self, tensor: torch.Tensor) -> None:
        """Note that a tensor was seen to be written, by what counts versions or does not."""
        storage = lend_storage(tensor)
        try:
            self._note(storage, tensor, is_simple(tensor))
        finally:
            take_back(storage)
        self.written(view_of(tensor).extent if self.made else WHOLE)

    def written(self, extent: Extent = WHOLE) -> None:
        """Note that no recorded output has written some bytes; a recorded one takes its place."""
        self.forget_numbers()
        self._sample, self.unwritten = None, False
        if self.made:
            self.made = [made for made in self.made if not inside(made.extent, extent)]
            self.made.append(Made(None, self.epoch, None, extent))

    def show(self, shown: Shown) -> None:
        """Note an output that shows it."""
        self.shown.append(shown)
        if len(self.shown) > _MOST_SHOWN:
            del self.shown[1]  # the first made it all

    def arrives(self, work: object) -> None:
        """Note that a collective writes it until its work is done."""
        self.written()
        if not _has_arrived(work):
            self._arriving.append(work)
            self.is_open = True

    def arrived(self) -> None:
        """Note that what writes it has been waited for."""
        self._arriving = []
        self.is_open = self._given_away or self.version == _INFERENCE
        self.written()

    def give_away(self) -> None:
        """Note that somebody can write it without a sign from now on."""
        self._given_away = self.is_open = True

    def forget_numbers(self) -> None:
        """Use nothing again that was measured so far."""
        self.epoch += 1
        self.whole = None
        self.records.clear()

    def sample_anew(self) -> None:
        """Use nothing again, and compare with no sample that was taken so far."""
        self.forget_numbers()
        self._sample = None

    def _note(
        self,
        storage: torch.UntypedStorage,
        tensor: torch.Tensor,
        simple: bool,
        closely: bool = False,
    ) -> None:
        self.version = _INFERENCE if tensor.is_inference() else tensor._version
        size, address = storage.nbytes(), _place_of(storage) if simple else 0
        if size != self.size or address != self._address:
            self.size, self._address, self._view = size, address, None
            if address and size:
                view: memoryview = _memory_view(address, size, _READ)
                self._view = view[:: size // _SAMPLED | 1]
        if self._view is None:
            self._sample = None
        elif closely:
            self._sample = crc32(_memory_view(address, size, _READ)).to_bytes(4, "little")
        else:
            self._sample = self._view.tobytes()
        # An array of numpy has the memory, or a file: parameters come out of files.
        foreign = not storage.resizable() and type(tensor) is not torch.nn.Parameter
        if foreign or not (simple or _is_plain(tensor)):
            self._given_away = True
        self.is_open = self._given_away or self.version == _INFERENCE or bool(self._arriving)
        if simple and not self.has_place:
            self.is_open = True


class MemoryBook:
    """The storages of one step."""

    def __init__(self) -> None:
        self._known: dict[int, Memory] = {}
        self._closely = False

    def at(self, tensor: torch.Tensor, simple: bool) -> Memory:
        """The record of a tensor's storage as it is now; `simple` is what `is_simple` says."""
        storage = lend_storage(tensor)
        try:
            key = storage._cdata
            known = self._known.get(key)
            if known is None or known.is_gone:
                known = self._known[key] = Memory(storage, tensor, simple, self._closely)
            else:
                known.look(storage, tensor, simple, self._closely)
            return known
        finally:
            take_back(storage)

    def without_a_look(self, tensor: torch.Tensor, simple: bool) -> Memory:
        """The record of a tensor's storage as it was last known, for whoever uses no number of it.

        Only writes that somebody has told of have raised its epoch.
        """
        known = self.known(storage_key(tensor))
        return self.at(tensor, simple) if known is None else known

    def known(self, key: int) -> Memory | None:
        """The record of a storage by its key; None where nothing is known of it."""
        known = self._known.get(key)
        return None if known is None or known.is_gone else known

    def allocated(self, tensor: torch.Tensor) -> None:
        """Note that a tensor's memory was not written yet."""
        memory = self.at(tensor, is_simple(tensor))
        memory.written()
        memory.unwritten = True

    def written(self, tensors: Iterable[torch.Tensor], name: str | None = None) -> None:
        """Note that somebody has just written these tensors: the call whose output is `name`."""
        for tensor in tensors:
            memory = self.known(storage_key(tensor))
            if memory is not None:
                memory.note_write(tensor)
                if name is not None:
                    memory.show(Shown(name, memory.epoch, view_of(tensor), writes=True))

    def forget_numbers(self) -> None:
        """Use nothing again that was measured so far."""
        for memory in list(self._known.values()):
            memory.forget_numbers()

    def look_closely(self, closely: bool) -> None:
        """From now on look at every byte before something is used again, or no longer."""
        self._closely = closely
        for memory in list(self._known.values()):
            memory.sample_anew()

    def all(self) -> list[Memory]:
        """What is known of all storages."""
        return list(self._known.values())

    def clear(self) -> None:
        """Hold nothing any more."""
        self._known.clear()


def own_memory(tensor: torch.Tensor) -> torch.Tensor | None:
    """The tensor by whose storage a tensor is known: a distributed one's local part.

    None for sparse, nested, fake and transformed tensors, which no one storage holds.
    """
    if is_simple(tensor):
        return tensor
    own: torch.Tensor = getattr(tensor, "_local_tensor", tensor)
    if own._is_zerotensor() or hasattr(own, "fake_mode") or _is_symbolic(own):
        return None
    if _functorch.is_functorch_wrapped_tensor(own) or own.layout is not torch.strided:
        return None
    return own if torch._C._has_storage(own) else None


def _is_symbolic(tensor: torch.Tensor) -> bool:
    return tensor.is_meta and any(type(size) is not int for size in tensor.shape)


def _place_of(storage: torch.UntypedStorage) -> int:
    try:
        return storage.data_ptr()
    except RuntimeError:  # while something traces, a plain tensor may have none
        return 0


def _is_plain(tensor: torch.Tensor) -> bool:
    return type(tensor) in PLAIN and not tensor.is_nested


def _has_arrived(work: object) -> bool:
    """Whether a call's work is done; what is no work (None from a blocking call) is."""
    completed = getattr(work, "is_completed", None)
    return completed is None or bool(completed())
