"""The JSON record of each tensor: computed once for each epoch of its memory, then reused.

A tensor is known by its storage and how it shows it. Values on a device are read back together, not
one by one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch

from msprobe_core.config.slices import Slice
from msprobe_core.torch.measure.checksum import crc32_of, xor_of
from msprobe_core.torch.measure.numbers import Measured, measure_now, measure_sparse
from msprobe_core.torch.measure.on_devices import DeviceNumbers, is_deferred
from msprobe_core.torch.measure.sketch import repeats_too_much, sketch_now, sketch_text
from msprobe_core.torch.measure.strided import (
    SIMPLE,
    Unreadable,
    elements_of,
    is_simple,
    shape_of,
)
from msprobe_core.torch.measure.users_modes import users_modes_off
from msprobe_core.torch.memory.book import Memory, MemoryBook, own_memory
from msprobe_core.torch.memory.flow import keep, source_of
from msprobe_core.torch.memory.holders import memories_in
from msprobe_core.torch.memory.unwritten import Overwritten
from msprobe_core.torch.memory.views import View, view_of
from msprobe_core.torch.memory.whole import WholeStorage, covers_all
from msprobe_core.torch.record.parts import part_of
from msprobe_core.torch.record.placement import placement_text
from msprobe_core.torch.record.process_groups import group_or_operation
from msprobe_core.torch.record.record_text import (
    NO_NUMBERS,
    TORCH_SCALARS,
    UNWRITTEN,
    PendingTensor,
    bare_record,
    extended,
    head_of,
    unwritten_record,
)
from msprobe_core.torch.record.tensor_files import TensorFiles
from msprobe_core.values.arguments import Enclosed
from msprobe_core.values.text import number, quoted

SavesFile = Callable[[str, str], bool]
"""Whether the value at a path, with this record, is saved as a file beside it."""
Side = Literal["input", "output"] | None
"""Which part of an entry is being written: its inputs, its outputs, or neither."""
ReportError = Callable[[str, BaseException], None]
_CHECKSUMS = {"md5": crc32_of, "xor": xor_of}
_IS_BACKWARD = ".backward."
_dispatch_keys = torch._C._dispatch_keys
_address_of: Callable[[torch.Tensor], int] = torch._C.TensorBase.data_ptr
_SMALL = 2048  # measuring that many elements again costs less than remembering their storage


@dataclass(slots=True)
class ValueOptions:
    """What is written of a tensor. `checksum` is `md5`, `xor` or None."""

    statistics: bool = True
    checksum: str | None = None
    save: bool = False
    double: bool = False
    flow: bool = False
    sketch: bool = False


class _Found:
    """What was found of a tensor in one epoch of its memory, and how the tensor showed it."""

    __slots__ = (
        "abnormal",
        "address",
        "epoch",
        "file",
        "memory",
        "record",
        "requires_grad",
        "source",
        "view",
    )

    def __init__(
        self,
        tensor: torch.Tensor,
        memory: Memory | None,
        view: View | None,
        made: _Made,
    ) -> None:
        self.memory, self.view = memory, view
        self.epoch = 0 if memory is None else memory.epoch
        self.address, self.requires_grad = 0, tensor.requires_grad
        self.record, self.abnormal, self.file = made
        self.source: str | None = None
        """The output that the tensor is; empty where none is known, None before it is asked."""

    def is_still(self, tensor: torch.Tensor) -> bool:
        """Whether this is so of a plain tensor: it shows the same bytes, and nobody wrote them.

        While the storage lives, nothing else is at its address.
        """
        memory, view = self.memory, self.view
        return (
            memory is not None
            and view is not None
            and memory.epoch == self.epoch
            and not memory.is_open
            and _dispatch_keys(tensor).raw_repr() == view.keys
            and tensor._version == memory.version
            and _address_of(tensor) == self.address
            and tensor.shape == view.shape
            and tensor.dtype is view.dtype
            and tensor.stride() == view.stride
            and tensor.requires_grad == self.requires_grad
            and not memory.is_gone
            and memory.is_as_sampled()
        )


class _Made(NamedTuple):
    """A record as it was made; `file` is the first that the tensor was saved in, if it was."""

    record: str | PendingTensor
    abnormal: bool = False
    file: str | None = None


class _Writing(threading.local):
    """What a thread is writing; several may record at once."""

    abnormal = False
    side: Side = None


class TensorBook:
    """Makes tensor records. `abnormal` tells whether one since its last reset was non-finite."""

    tensor_type: type = torch.Tensor
    scalars = TORCH_SCALARS

    def __init__(
        self,
        options: ValueOptions,
        files: TensorFiles,
        report: ReportError,
        saves_file: SavesFile | None = None,
    ) -> None:
        self.options = options
        self.slices: tuple[Slice, ...] = ()
        self._writing = _Writing()
        self._on_devices = DeviceNumbers()
        self._saves_file = saves_file
        self._files, self._report = files, report
        self._memory = MemoryBook()
        self._known: dict[int, _Found] = {}  # by the object that was last seen at an id
        self._heads: dict[tuple[torch.dtype, torch.Size], str] = {}

    @property
    def abnormal(self) -> bool:
        """Whether a record of this thread since the last reset was not finite."""
        return self._writing.abnormal

    @abnormal.setter
    def abnormal(self, value: bool) -> None:
        self._writing.abnormal = value

    @property
    def side(self) -> Side:
        """Which part of an entry this thread is writing."""
        return self._writing.side

    @side.setter
    def side(self, value: Side) -> None:
        self._writing.side = value

    def record(self, tensor: torch.Tensor, path: str, key: object = None) -> str | PendingTensor:
        """The record of a tensor that stands at `path`, or at `path.key`; never raises."""
        try:
            if self.slices:
                tensor = part_of(tensor, self.slices)
            found = self._known.get(id(tensor))
            if found is None or not found.is_still(tensor):
                found = self._find(tensor, _joined(path, key))
            if found.abnormal:
                self.abnormal = True
            record = found.record
            if self.options.flow and self.side is not None:
                record = self._with_source(found, path, key)
            if found.file is not None:
                file = self._files.save_again(found.file, _joined(path, key))
                return extended(record, f', "data_name": {quoted(file)}')
            if self._saves_file is not None and self._saves_file(_joined(path, key), str(record)):
                return self._with_file(tensor, _joined(path, key), record)
            return record
        except Exception as error:  # whatever a user's tensor does must not reach his step
            self._report(_joined(path, key), error)
            return bare_record(tensor)

    @staticmethod
    def special(value: object) -> str | Enclosed | None:
        """What a call overwrites, process groups and their operations."""
        if isinstance(value, Overwritten):
            return unwritten_record(value.tensor)
        return group_or_operation(value)

    def allocated(self, tensor: torch.Tensor) -> None:
        """Note that a tensor's memory was not written yet."""
        with torch._C.DisableTorchFunction():
            own = own_memory(tensor)
            if own is not None:
                self._memory.allocated(own)

    @property
    def has_pending(self) -> bool:
        """Whether numbers of some record still lie on a device."""
        return self._on_devices.waiting

    def read_back(self) -> None:
        """Fetch all numbers that lie on devices, together."""
        if self._on_devices.waiting:
            with users_modes_off(), torch.no_grad():
                self._on_devices.read_back()

    def written(self, value: object) -> None:
        """Note that a tensor, or those in a container, may just have been written."""
        with torch._C.DisableTorchFunction():
            self._memory.written(memories_in(value))

    def given_away(self, value: object) -> None:
        """Note that somebody can from now on write a tensor, or those in a container, unseen."""
        with torch._C.DisableTorchFunction():
            for own in memories_in(value):
                self._memory.at(own, is_simple(own)).give_away()

    def arrives(self, value: object, work: object) -> None:
        """Note that a collective writes tensors until its work is done."""
        with torch._C.DisableTorchFunction():
            for own in memories_in(value):
                self._memory.at(own, is_simple(own)).arrives(work)

    def arrived(self, value: object) -> None:
        """Note that the collective that writes these tensors has been waited for."""
        with torch._C.DisableTorchFunction():
            for own in memories_in(value):
                self._memory.at(own, is_simple(own)).arrived()

    def stored(self, storage: torch.UntypedStorage) -> None:
        """Note that a storage was written as such."""
        memory = self._memory.known(storage)
        if memory is not None:
            memory.written()

    def forget_records(self) -> None:
        """Reuse no record made so far."""
        self._memory.forget_numbers()

    def forget_gradients(self) -> None:
        """Reuse no record made so far; what a backward pass has put out is something else now."""
        for memory in self._memory.all():
            if any(made.name is not None and _IS_BACKWARD in made.name for made in memory.made):
                memory.written()
            else:
                memory.forget_numbers()

    def forget_all(self) -> None:
        """Hold nothing of the step any more."""
        self._known.clear()
        self._memory.clear()

    def _find(self, tensor: torch.Tensor, path: str) -> _Found:
        """What is known of a tensor's memory as the tensor shows it, measured where nothing is."""
        own = own_memory(tensor)
        if own is None:
            return _Found(tensor, None, None, self._make(tensor, path, None))
        view = view_of(own)
        memory = self._memory.at(own, view.keys in SIMPLE)
        key = (view, tensor.requires_grad, None if own is tensor else placement_text(tensor))
        known: _Found | None = None if memory.is_open else memory.records.get(key)
        if known is not None:
            return known
        found = _Found(tensor, memory, view, self._make(tensor, path, memory))
        if not memory.is_open and not memory.has_other_names(own):
            memory.records[key] = found
            if own is tensor:
                found.address = _address_of(tensor)
                self._known[id(tensor)] = found
        return found

    def _with_source(self, found: _Found, path: str, key: object) -> str | PendingTensor:
        """The record of an input with the output that it is; an output is remembered as one."""
        if found.memory is None or found.view is None:
            return found.record
        if self.side == "output":
            if not found.source:
                found.source = _joined(path, key)
                keep(found.memory, found.view, found.source)
            return found.record
        if found.source is None:
            found.source = source_of(found.memory, found.view) or ""
        if not found.source:
            return found.record
        return extended(found.record, f', "source": {quoted(found.source)}')

    def _with_file(
        self, tensor: torch.Tensor, path: str, record: str | PendingTensor
    ) -> str | PendingTensor:
        values = tensor if is_simple(tensor) else elements_of(tensor)
        return extended(record, f', "data_name": {quoted(self._files.save(values, path))}')

    def _is_unwritten(self, tensor: torch.Tensor, memory: Memory | None) -> bool:
        """Whether nobody has written a tensor.

        Inference tensors have no version: their mark goes with the first call that takes them.
        """
        if memory is None or not memory.unwritten:
            return False
        if self.side == "input" and tensor.is_inference():
            memory.unwritten = False
        return True

    def _make(self, tensor: torch.Tensor, path: str, memory: Memory | None) -> _Made:
        tail = ', "requires_grad": true' if tensor.requires_grad else ', "requires_grad": false'
        if not is_simple(tensor):
            tail += placement_text(tensor) or ""
            return self._make_odd(tensor, path, tail, memory)
        key = (tensor.dtype, tensor.shape)
        head = self._heads.get(key)
        if head is None:
            head = self._heads[key] = head_of(tensor.dtype, list(tensor.shape))
        if self._is_unwritten(tensor, memory):
            return _Made(f"{head}{NO_NUMBERS}{tail}{UNWRITTEN}}}")
        if memory is not None and memory.ends_within(tensor):
            return _Made(f"{head}{NO_NUMBERS}{tail}}}")
        options = self.options
        checksum, file = self._bytes_of(tensor, path, memory)
        tail += checksum
        if not options.statistics:
            return _Made(f"{head}{tail}}}", file=file)
        if tensor.numel() < _SMALL:
            measured = measure_now(tensor, options.double)
            sketched = self._sketch(tensor, measured)
        else:
            storage = _whole(tensor, memory)
            known = None if storage is None else storage.measured
            measured = known or measure_now(tensor, options.double)
            if storage is not None:
                storage.measured = measured
            sketched = self._sketch_once(tensor, measured, storage)
        if measured.abnormal:
            self.abnormal = True
        record = f"{head}{measured.text}{sketched}{tail}{measured.counts}}}"
        return _Made(record, measured.abnormal, file)

    def _sketch(self, tensor: torch.Tensor, measured: Measured) -> str:
        # Of one element the statistics tell all there is to know.
        if not self.options.sketch or tensor.numel() < 2 or repeats_too_much(tensor):
            return ""
        return sketch_text(sketch_now(tensor, measured.extreme, self.options.double))

    def _sketch_once(
        self, tensor: torch.Tensor, measured: Measured, storage: WholeStorage | None
    ) -> str:
        # Views in C order share the sketch of their storage, whatever their shapes.
        if storage is None or not self.options.sketch or not tensor.is_contiguous():
            return self._sketch(tensor, measured)
        if storage.sketch is None:
            storage.sketch = self._sketch(tensor, measured)
        return storage.sketch

    def _make_odd(self, tensor: torch.Tensor, path: str, tail: str, memory: Memory | None) -> _Made:
        options = self.options
        head = head_of(tensor.dtype, shape_of(tensor))
        if self._is_unwritten(tensor, memory):
            return _Made(f"{head}{NO_NUMBERS}{tail}{UNWRITTEN}}}")
        try:
            values = elements_of(tensor)
        except Unreadable:
            return _Made(f"{head}{NO_NUMBERS}{tail}}}")
        checksum, file = self._bytes_of(values, path, None)
        tail += checksum
        if not options.statistics:
            return _Made(f"{head}{tail}}}", file=file)
        if is_deferred(values):
            with_sketch = options.sketch and not repeats_too_much(values)
            numbers = self._on_devices.measure(values, options.double, with_sketch)
            return _Made(PendingTensor(head, numbers, tail), file=file)
        is_sparse = tensor.layout is not torch.strided and not tensor.is_nested
        measured = (
            measure_sparse(tensor, values) if is_sparse else measure_now(values, options.double)
        )
        self.abnormal |= measured.abnormal
        # The places of a sparse tensor's elements are not in the order of its stored ones.
        sketched = "" if is_sparse else self._sketch(values, measured)
        record = f"{head}{measured.text}{sketched}{tail}{measured.counts}}}"
        return _Made(record, measured.abnormal, file)

    def _bytes_of(
        self, tensor: torch.Tensor, path: str, memory: Memory | None
    ) -> tuple[str, str | None]:
        """Checksum and file of the elements: the same for the same elements in the same shape."""
        options = self.options
        if not (options.save or options.checksum):
            return "", None
        storage = _whole(tensor, memory) if tensor.is_contiguous() else None
        known = None if storage is None else storage.bytes.get(tensor.shape)
        if known is not None:
            return known
        file = self._files.save(tensor, path) if options.save and tensor.numel() else None
        text = f', "md5": {_checksum_of(tensor, options.checksum)}' if options.checksum else ""
        if storage is not None:
            storage.bytes[tensor.shape] = text, file
        return text, file


def _checksum_of(tensor: torch.Tensor, kind: str) -> str:
    if kind == "xor" and not tensor.shape and tensor.dtype is not torch.bool:
        return number(tensor.item())  # so msprobe writes the XOR of a tensor without dimensions
    return f'"{_CHECKSUMS[kind](tensor)}"'


def _whole(tensor: torch.Tensor, memory: Memory | None) -> WholeStorage | None:
    """What is known of the tensor's elements; None when it does not show a whole storage."""
    if memory is None or memory.is_open or not covers_all(tensor, memory.size):
        return None
    if memory.whole is None or memory.whole.dtype is not tensor.dtype:
        memory.whole = WholeStorage(tensor.dtype)
    return memory.whole


def _joined(path: str, key: object) -> str:
    return path if key is None else f"{path}.{key}"
