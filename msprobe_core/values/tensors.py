"""The JSON record of each tensor: computed once per tensor object and version, then reused.

Identity is the Python object held by a weak reference: storage addresses are reused, objects
that are alive are not. Values on a device are read back together, not one by one.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass

import torch

from msprobe_core.values.checksum import crc32_of, xor_of
from msprobe_core.values.numbers import (
    Measured,
    PendingNumbers,
    defer_measure,
    measure_now,
    measure_sparse,
)
from msprobe_core.values.plain import Unreadable, is_simple, plain, shape_of
from msprobe_core.values.storages import StorageBook
from msprobe_core.values.text import quoted

SaveTensor = Callable[[torch.Tensor, str], str]
Judge = Callable[[str, str], bool]
ReportError = Callable[[str, BaseException], None]
_CHECKSUMS = {"md5": crc32_of, "xor": xor_of}
_NO_NUMBERS = ', "Max": null, "Min": null, "Mean": null, "Norm": null'
_NEVER = -1
_SMALL = 2048  # measuring that many elements again costs less than remembering their storage


@dataclass(slots=True)
class ValueOptions:
    """What is written of a tensor. `checksum` is `md5`, `xor` or None."""

    statistics: bool = True
    checksum: str | None = None
    save: bool = False
    double: bool = False


class PendingTensor:
    """A record whose numbers still lie on a device."""

    __slots__ = ("head", "numbers", "tail")

    def __init__(self, head: str, numbers: PendingNumbers, tail: str) -> None:
        self.head, self.numbers, self.tail = head, numbers, tail

    @property
    def abnormal(self) -> bool:
        """Whether an element is non-finite or as large as its dtype can hold."""
        return self.numbers.found.abnormal

    def __str__(self) -> str:
        found = self.numbers.found
        return f"{self.head}{found.text}{self.tail}{found.counts}}}"


class _Known:
    __slots__ = ("abnormal", "alive", "record", "requires_grad", "version")

    def __init__(self, tensor: torch.Tensor, version: int, requires_grad: bool) -> None:
        self.alive = weakref.ref(tensor)
        self.version, self.requires_grad = version, requires_grad
        self.record: str | PendingTensor = ""
        self.abnormal = False


class TensorBook:
    """Makes tensor records. `abnormal` tells whether one since its last reset was non-finite."""

    def __init__(self, options: ValueOptions, save: SaveTensor, report: ReportError) -> None:
        self.options = options
        self.abnormal = False
        self.pending: list[PendingNumbers] = []
        self.judge: Judge | None = None
        self._save, self._report = save, report
        self._known: dict[int, _Known] = {}
        self._storages = StorageBook()
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
                record = known.record
            else:
                record = self._measure(tensor, known, _joined(path, key))
            if self.judge is not None and self.judge(_joined(path, key), str(record)):
                return self._with_file(tensor, _joined(path, key), record)
            return record
        except Exception as error:  # whatever a user's tensor does must not reach his step
            self._report(_joined(path, key), error)
            return _bare_record(tensor)

    def distrust(self, value: object) -> None:
        """Do not reuse the record of a tensor, or of those in a container, in this step: its
        elements may change while its version does not.
        """
        if isinstance(value, torch.Tensor):
            self._known[id(value)] = _Known(value, _NEVER, False)
            self._storages.distrust(value)
        elif isinstance(value, (list, tuple)):
            for each in value:
                self.distrust(each)
        elif hasattr(value, "tensor"):
            self.distrust(value.tensor)

    def forget_records(self) -> None:
        """Reuse no record made so far."""
        self._known.clear()
        self._storages.clear()

    def _with_file(
        self, tensor: torch.Tensor, path: str, record: str | PendingTensor
    ) -> str | PendingTensor:
        values = tensor if is_simple(tensor) else plain(tensor)
        named = f', "data_name": {quoted(self._save(values, path))}'
        if isinstance(record, PendingTensor):
            return PendingTensor(record.head, record.numbers, record.tail + named)
        return f"{record[:-1]}{named}}}"

    def _measure(
        self, tensor: torch.Tensor, known: _Known | None, path: str
    ) -> str | PendingTensor:
        distrusted = known is not None and known.version == _NEVER and known.alive() is tensor
        if distrusted or tensor.is_inference():
            return self._make(tensor, path, _NEVER)[0]
        fresh = _Known(tensor, tensor._version, tensor.requires_grad)
        fresh.record, fresh.abnormal = self._make(tensor, path, fresh.version)
        self._known[id(tensor)] = fresh
        return fresh.record

    def _make(
        self, tensor: torch.Tensor, path: str, version: int
    ) -> tuple[str | PendingTensor, bool]:
        tail = ', "requires_grad": true' if tensor.requires_grad else ', "requires_grad": false'
        if not is_simple(tensor):
            return self._make_odd(tensor, path, tail)
        key = (tensor.dtype, tensor.shape)
        head = self._heads.get(key)
        if head is None:
            head = self._heads[key] = _head(tensor.dtype, list(tensor.shape))
        options = self.options
        if options.save or options.checksum:
            tail += self._bytes_of(tensor, path, version)
        if not options.statistics:
            return f"{head}{tail}}}", False
        if tensor.numel() < _SMALL:
            found = measure_now(tensor, options.double)
        else:
            storage = self._storages.whole(tensor, version)
            known = None if storage is None else storage.measured
            found = known or measure_now(tensor, options.double)
            if storage is not None:
                storage.measured = found
        if found.abnormal:
            self.abnormal = True
        return f"{head}{found.text}{tail}{found.counts}}}", found.abnormal

    def _make_odd(
        self, tensor: torch.Tensor, path: str, tail: str
    ) -> tuple[str | PendingTensor, bool]:
        options = self.options
        head = _head(tensor.dtype, shape_of(tensor))
        try:
            values = plain(tensor)
        except Unreadable:
            return f"{head}{_NO_NUMBERS}{tail}}}", False
        if options.save or options.checksum:
            tail += self._bytes_of(values, path, -1)
        if not options.statistics:
            return f"{head}{tail}}}", False
        if values.device.type != "cpu":
            numbers = defer_measure(values, options.double)
            self.pending.append(numbers)
            return PendingTensor(head, numbers, tail), False
        is_sparse = tensor.layout is not torch.strided and not tensor.is_nested
        found = (
            measure_sparse(tensor, values, options.double)
            if is_sparse
            else measure_now(values, options.double)
        )
        self.abnormal |= found.abnormal
        return f"{head}{found.text}{tail}{found.counts}}}", found.abnormal

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


def _joined(path: str, key: object) -> str:
    return path if key is None else f"{path}.{key}"


def _head(dtype: torch.dtype, shape: list[int]) -> str:
    return f'{{"type": "torch.Tensor", "dtype": "{dtype}", "shape": {shape}'


def _bare_record(tensor: torch.Tensor) -> str:
    try:
        head = _head(tensor.dtype, list(tensor.shape))
    except Exception:  # the shape itself may be what cannot be read
        head = _head(tensor.dtype, [])
    return f'{head}{_NO_NUMBERS}, "requires_grad": false}}'


__all__ = ["Measured", "PendingTensor", "TensorBook", "ValueOptions"]
