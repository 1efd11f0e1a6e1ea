"""The JSON record of each tensor: computed once per tensor object and version, then reused.

Identity is the Python object held by a weak reference: storage addresses are reused, objects
that are alive are not. Values on a device are read back together, not one by one.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch

from msprobe_core.torch.measure.checksum import crc32_of, xor_of
from msprobe_core.torch.measure.numbers import Measured, measure_now, measure_sparse
from msprobe_core.torch.measure.on_devices import DeviceNumbers, Pending, is_deferred
from msprobe_core.torch.measure.sketch import sketch_now, sketch_text
from msprobe_core.torch.measure.strided import Unreadable, elements_of, is_simple, shape_of
from msprobe_core.torch.measure.users_modes import users_modes_off
from msprobe_core.torch.memory.flow import Flow
from msprobe_core.torch.memory.storages import Storage, StorageBook
from msprobe_core.torch.memory.unwritten import Overwritten, UnwrittenMemory
from msprobe_core.torch.record.placement import placement_text
from msprobe_core.torch.record.process_groups import group_or_operation
from msprobe_core.values.arguments import Enclosed, Scalars
from msprobe_core.values.text import quoted, typed

SaveTensor = Callable[[torch.Tensor, str], str]
SavesFile = Callable[[str, str], bool]
"""Whether the value at a path, with this record, is saved as a file beside it."""
Side = Literal["input", "output"] | None
"""Which part of an entry is being written: its inputs, its outputs, or neither."""
ReportError = Callable[[str, BaseException], None]
_CHECKSUMS = {"md5": crc32_of, "xor": xor_of}
_NO_NUMBERS = ', "Max": null, "Min": null, "Mean": null, "Norm": null'
_UNWRITTEN = ', "unwritten": true'
_NEVER = -1
_has_storage = torch._C._has_storage
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


class PendingTensor:
    """A record whose numbers still lie on a device."""

    __slots__ = ("head", "numbers", "tail")

    def __init__(self, head: str, numbers: Pending, tail: str) -> None:
        self.head, self.numbers, self.tail = head, numbers, tail

    @property
    def abnormal(self) -> bool:
        """Whether an element is non-finite or as large as its dtype can hold."""
        return self.numbers.found.abnormal

    def __str__(self) -> str:
        measured, sketched = self.numbers.found, self.numbers.sketch
        return f"{self.head}{measured.text}{sketched}{self.tail}{measured.counts}}}"


TORCH_SCALARS: Scalars = {
    torch.Size: lambda value: typed("torch.Size", str(list(value))),
    torch.dtype: lambda value: typed("torch.dtype", quoted(str(value))),
    torch.device: lambda value: typed("torch.device", quoted(str(value))),
    torch.memory_format: lambda value: typed("torch.memory_format", quoted(str(value))),
}


class _Known:
    __slots__ = ("abnormal", "alive", "record", "requires_grad", "source", "version")

    def __init__(self, tensor: torch.Tensor, version: int, requires_grad: bool) -> None:
        self.alive = weakref.ref(tensor)
        self.version, self.requires_grad = version, requires_grad
        self.record: str | PendingTensor = ""
        self.abnormal = False
        self.source: str | None = None
        """The output that the tensor is; empty where none is known, None before it is asked."""


class TensorBook:
    """Makes tensor records. `abnormal` tells whether one since its last reset was non-finite."""

    tensor_type: type = torch.Tensor
    scalars = TORCH_SCALARS

    def __init__(
        self,
        options: ValueOptions,
        save: SaveTensor,
        report: ReportError,
        saves_file: SavesFile | None = None,
    ) -> None:
        self.options = options
        self.abnormal = False
        self._on_devices = DeviceNumbers()
        self._saves_file = saves_file
        self._save, self._report = save, report
        self._known: dict[int, _Known] = {}
        self._storages = StorageBook()
        self._flow = Flow() if options.flow else None
        self._unwritten = UnwrittenMemory()
        self.side: Side = None
        self._heads: dict[tuple[torch.dtype, torch.Size], str] = {}

    def record(self, tensor: torch.Tensor, path: str, key: object = None) -> str | PendingTensor:
        """The record of a tensor that stands at `path`, or at `path.key`; never raises."""
        try:
            known = self._known.get(id(tensor))
            if (
                known is not None
                and known.alive() is tensor
                and known.version != _NEVER
                and known.version == tensor._version
                and known.requires_grad == tensor.requires_grad
            ):
                if known.abnormal:
                    self.abnormal = True
            else:
                known = self._measure(tensor, known, _joined(path, key))
            record = known.record
            if self._flow is not None and self.side is not None:
                record = self._with_source(tensor, known, path, key)
            if self._saves_file is not None and self._saves_file(_joined(path, key), str(record)):
                return self._with_file(tensor, _joined(path, key), record)
            return record
        except Exception as error:  # whatever a user's tensor does must not reach his step
            self._report(_joined(path, key), error)
            return _bare_record(tensor)

    @staticmethod
    def special(value: object) -> str | Enclosed | None:
        """What a call overwrites, process groups and their operations."""
        if isinstance(value, Overwritten):
            return _unwritten_record(value.tensor)
        return group_or_operation(value)

    def allocated(self, tensor: torch.Tensor) -> None:
        """Note that a tensor's memory was not written yet."""
        self._unwritten.add(tensor)

    @property
    def has_pending(self) -> bool:
        """Whether numbers of some record still lie on a device."""
        return self._on_devices.waiting

    def read_back(self) -> None:
        """Fetch all numbers that lie on devices, together."""
        if self._on_devices.waiting:
            with users_modes_off(), torch.no_grad():
                self._on_devices.read_back()

    def distrust(self, value: object, filled: bool = False) -> None:
        """Do not reuse the record of a tensor, or of those in a container, in this step: its
        elements may change while its version does not. `filled` tells that they just did.
        """
        if isinstance(value, torch.Tensor):
            self._known[id(value)] = _Known(value, _NEVER, False)
            if _has_storage(value):
                self._storages.distrust(value)
                self._unwritten.written(value)
                if filled and self._flow is not None:
                    self._flow.overwritten(value)
        elif isinstance(value, (list, tuple)):
            for each in value:
                self.distrust(each, filled)
        elif hasattr(value, "tensor"):
            self.distrust(value.tensor, filled)

    def forget_records(self) -> None:
        """Reuse no record made so far."""
        self._known.clear()
        self._storages.clear()

    def forget_all(self) -> None:
        """Hold nothing of the step any more."""
        self.forget_records()
        self._unwritten.clear()
        if self._flow is not None:
            self._flow.clear()

    def _with_source(
        self, tensor: torch.Tensor, known: _Known, path: str, key: object
    ) -> str | PendingTensor:
        """The record of an input with the output that it is; an output is remembered as one."""
        assert self._flow is not None
        if self.side == "output":
            if not known.source and _has_storage(tensor):
                known.source = _joined(path, key)
                self._flow.keep(tensor, known.source)
            return known.record
        if known.source is None:
            known.source = (self._flow.source_of(tensor) if _has_storage(tensor) else None) or ""
        if not known.source:
            return known.record
        return _extended(known.record, f', "source": {quoted(known.source)}')

    def _with_file(
        self, tensor: torch.Tensor, path: str, record: str | PendingTensor
    ) -> str | PendingTensor:
        values = tensor if is_simple(tensor) else elements_of(tensor)
        return _extended(record, f', "data_name": {quoted(self._save(values, path))}')

    def _measure(self, tensor: torch.Tensor, known: _Known | None, path: str) -> _Known:
        distrusted = known is not None and known.version == _NEVER and known.alive() is tensor
        version = _NEVER if distrusted or tensor.is_inference() else tensor._version
        fresh = _Known(tensor, version, tensor.requires_grad)
        fresh.record, fresh.abnormal = self._make(tensor, path, version)
        if version != _NEVER:
            self._known[id(tensor)] = fresh
        return fresh

    def _make(
        self, tensor: torch.Tensor, path: str, version: int
    ) -> tuple[str | PendingTensor, bool]:
        tail = ', "requires_grad": true' if tensor.requires_grad else ', "requires_grad": false'
        if not is_simple(tensor):
            tail += placement_text(tensor) or ""
            return self._make_odd(tensor, path, tail)
        key = (tensor.dtype, tensor.shape)
        head = self._heads.get(key)
        if head is None:
            head = self._heads[key] = _head(tensor.dtype, list(tensor.shape))
        if self._unwritten.holds(tensor, self.side == "input"):
            return f"{head}{_NO_NUMBERS}{tail}{_UNWRITTEN}}}", False
        options = self.options
        if options.save or options.checksum:
            tail += self._bytes_of(tensor, path, version)
        if not options.statistics:
            return f"{head}{tail}}}", False
        if tensor.numel() < _SMALL:
            measured = measure_now(tensor, options.double)
            sketched = self._sketch(tensor, measured)
        else:
            storage = self._storages.whole(tensor, version)
            known = None if storage is None else storage.measured
            measured = known or measure_now(tensor, options.double)
            if storage is not None:
                storage.measured = measured
            sketched = self._sketch_once(tensor, measured, storage)
        if measured.abnormal:
            self.abnormal = True
        return f"{head}{measured.text}{sketched}{tail}{measured.counts}}}", measured.abnormal

    def _sketch(self, tensor: torch.Tensor, measured: Measured) -> str:
        # Of one element the statistics tell all there is to know.
        if not self.options.sketch or tensor.numel() < 2:
            return ""
        return sketch_text(sketch_now(tensor, measured.extreme, self.options.double))

    def _sketch_once(
        self, tensor: torch.Tensor, measured: Measured, storage: Storage | None
    ) -> str:
        # Views in C order share the sketch of their storage, whatever their shapes.
        if storage is None or not self.options.sketch or not tensor.is_contiguous():
            return self._sketch(tensor, measured)
        if storage.sketch is None:
            storage.sketch = self._sketch(tensor, measured)
        return storage.sketch

    def _make_odd(
        self, tensor: torch.Tensor, path: str, tail: str
    ) -> tuple[str | PendingTensor, bool]:
        options = self.options
        head = _head(tensor.dtype, shape_of(tensor))
        if _has_storage(tensor) and self._unwritten.holds(tensor, self.side == "input"):
            return f"{head}{_NO_NUMBERS}{tail}{_UNWRITTEN}}}", False
        try:
            values = elements_of(tensor)
        except Unreadable:
            return f"{head}{_NO_NUMBERS}{tail}}}", False
        if options.save or options.checksum:
            tail += self._bytes_of(values, path, -1)
        if not options.statistics:
            return f"{head}{tail}}}", False
        if is_deferred(values):
            numbers = self._on_devices.measure(values, options.double, options.sketch)
            return PendingTensor(head, numbers, tail), False
        is_sparse = tensor.layout is not torch.strided and not tensor.is_nested
        measured = (
            measure_sparse(tensor, values) if is_sparse else measure_now(values, options.double)
        )
        self.abnormal |= measured.abnormal
        # The places of a sparse tensor's elements are not in the order of its stored ones.
        sketched = "" if is_sparse else self._sketch(values, measured)
        return f"{head}{measured.text}{sketched}{tail}{measured.counts}}}", measured.abnormal

    def _bytes_of(self, tensor: torch.Tensor, path: str, version: int) -> str:
        """Checksum and file of the elements: the same for the same elements in the same shape."""
        known = self._storages.bytes_of(tensor, version)
        if known is not None:
            return known
        options, text = self.options, ""
        if options.save and tensor.numel():
            text = f', "data_name": {quoted(self._save(tensor, path))}'
        if options.checksum:
            text += f', "md5": "{_CHECKSUMS[options.checksum](tensor)}"'
        self._storages.keep_bytes(tensor, version, text)
        return text


def _extended(record: str | PendingTensor, members: str) -> str | PendingTensor:
    if isinstance(record, PendingTensor):
        return PendingTensor(record.head, record.numbers, record.tail + members)
    return f"{record[:-1]}{members}}}"


def _joined(path: str, key: object) -> str:
    return path if key is None else f"{path}.{key}"


def _head(dtype: torch.dtype, shape: list[int]) -> str:
    return f'{{"type": "torch.Tensor", "dtype": "{dtype}", "shape": {shape}'


def _unwritten_record(tensor: torch.Tensor) -> str:
    grad = "true" if tensor.requires_grad else "false"
    head = _head(tensor.dtype, shape_of(tensor))
    return f'{head}{_NO_NUMBERS}, "requires_grad": {grad}{_UNWRITTEN}}}'


def _bare_record(tensor: torch.Tensor) -> str:
    try:
        head = _head(tensor.dtype, list(tensor.shape))
    except Exception:  # the shape itself may be what cannot be read
        return "null"
    return f'{head}{_NO_NUMBERS}, "requires_grad": false}}'
