"""The JSON record of each tensor: computed once per tensor object and version, then reused.

Identity is the Python object held by a weak reference: storage addresses are reused, objects
that are alive are not. Values on a device are read back together, not one by one.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite

import torch

from msprobe_core.values.checksum import crc32_of, xor_of
from msprobe_core.values.plain import Unreadable, is_odd, plain, shape_of
from msprobe_core.values.statistics import EMPTY, Statistics, count_nonfinite, measure
from msprobe_core.values.text import number, quoted

SaveTensor = Callable[[torch.Tensor, str], str]
ReportError = Callable[[str, BaseException], None]
_CHECKSUMS = {"md5": crc32_of, "xor": xor_of}
_NEVER = -1


@dataclass(slots=True)
class ValueOptions:
    """What is written of a tensor. `checksum` is `md5`, `xor` or None."""

    statistics: bool = True
    checksum: str | None = None
    save: bool = False
    double: bool = False


class PendingTensor:
    """A record whose numbers still lie on a device."""

    __slots__ = ("head", "nonfinite", "saturation", "scalars", "tail")

    def __init__(self, head: str, tail: str, scalars: Statistics, saturation: float | None) -> None:
        self.head, self.tail, self.scalars = head, tail, scalars
        self.saturation, self.nonfinite = saturation, False

    def __str__(self) -> str:
        return f"{self.head}{_numbers(self.scalars)}{self.tail}"


@dataclass(slots=True)
class _Known:
    alive: weakref.ref[torch.Tensor]
    version: int
    requires_grad: bool
    record: str | PendingTensor
    abnormal: bool


class TensorBook:
    """Makes tensor records. `abnormal` tells whether one since its last reset was non-finite."""

    def __init__(self, options: ValueOptions, save: SaveTensor, report: ReportError) -> None:
        self.options = options
        self.abnormal = False
        self.pending: list[PendingTensor] = []
        self._save, self._report = save, report
        self._known: dict[int, _Known] = {}

    def record(self, tensor: torch.Tensor, path: str) -> str | PendingTensor:
        """The record of a tensor that stands at `path` (`<entry>.input.0`); never raises."""
        try:
            return self._cached(tensor, path)
        except Exception as error:  # whatever a user's tensor does must not reach his step
            self._report(path, error)
            return _bare_record(tensor)

    def distrust(self, value: object) -> None:
        """Do not reuse the record of a tensor, or of those in a container, in this step: its
        elements may change while its version does not.
        """
        if isinstance(value, torch.Tensor):
            self._known[id(value)] = _Known(weakref.ref(value), _NEVER, False, "", False)
        elif isinstance(value, (list, tuple)):
            for each in value:
                self.distrust(each)
        elif hasattr(value, "tensor"):
            self.distrust(value.tensor)

    def forget_records(self) -> None:
        """Reuse no record made so far."""
        self._known.clear()

    def _cached(self, tensor: torch.Tensor, path: str) -> str | PendingTensor:
        if tensor.is_inference():
            return self._make(tensor, path)[0]
        key, version, grad = id(tensor), tensor._version, tensor.requires_grad
        known = self._known.get(key)
        if (
            known is not None
            and known.version == version
            and known.alive() is tensor
            and known.requires_grad == grad
        ):
            self.abnormal |= known.abnormal
            return known.record
        record, abnormal = self._make(tensor, path)
        if known is not None and known.version == _NEVER and known.alive() is tensor:
            return record
        self._known[key] = _Known(weakref.ref(tensor), version, grad, record, abnormal)
        return record

    def _make(self, tensor: torch.Tensor, path: str) -> tuple[str | PendingTensor, bool]:
        options = self.options
        odd = is_odd(tensor)
        head = _head(tensor, shape_of(tensor) if odd else list(tensor.shape))
        tail = f', "requires_grad": {"true" if tensor.requires_grad else "false"}'
        try:
            values = plain(tensor) if odd else tensor
        except Unreadable:
            return f"{head}{_numbers(EMPTY)}{tail}}}", False
        if options.save and values.numel():
            tail += f', "data_name": {quoted(self._save(values, path))}'
        if options.checksum:
            tail += f', "md5": "{_CHECKSUMS[options.checksum](values)}"'
        if not options.statistics:
            return f"{head}{tail}}}", False
        if values.device.type == "cpu":
            return self._finish(values, head, tail, _odd_statistics(tensor, values, options.double))
        return self._defer(values, head, tail)

    def _finish(
        self, values: torch.Tensor, head: str, tail: str, scalars: Statistics
    ) -> tuple[str, bool]:
        numbers = Statistics(*(_item(scalar) for scalar in scalars[:4]))
        abnormal = False
        if numbers.max is not None and not _all_finite(numbers):
            counts = count_nonfinite(values)
            numbers = Statistics(*numbers[:4], *(int(count) for count in counts))
            abnormal = bool(numbers.nan_count or numbers.inf_count)
        abnormal = abnormal or is_saturated(numbers, saturation_of(values.dtype))
        self.abnormal |= abnormal
        return f"{head}{_numbers(numbers)}{tail}{_counts(numbers)}}}", abnormal

    def _defer(self, values: torch.Tensor, head: str, tail: str) -> tuple[PendingTensor, bool]:
        scalars = measure(values, self.options.double)
        if scalars.mean is not None:
            scalars = Statistics(*scalars[:4], *count_nonfinite(values))
        record = PendingTensor(head, tail, scalars, saturation_of(values.dtype))
        self.pending.append(record)
        return record, False


def read_back(pending: list[PendingTensor]) -> None:
    """Fetch the numbers of all records from their devices, one transfer per dtype and device."""
    groups: dict[tuple[torch.dtype, torch.device], list[tuple[int, int, torch.Tensor]]] = {}
    for at, record in enumerate(pending):
        for place, scalar in enumerate(record.scalars):
            if isinstance(scalar, torch.Tensor):
                group = groups.setdefault((scalar.dtype, scalar.device), [])
                group.append((at, place, scalar.reshape(())))
    found = [list(record.scalars) for record in pending]
    for members in groups.values():
        values = torch.stack([scalar for _, _, scalar in members]).tolist()
        for (at, place, _), value in zip(members, values, strict=True):
            found[at][place] = value
    for record, numbers in zip(pending, found, strict=True):
        record.scalars = Statistics(*numbers)
        record.tail += f"{_counts(record.scalars)}}}"
        counted = bool(record.scalars.nan_count or record.scalars.inf_count)
        record.nonfinite = counted or is_saturated(record.scalars, record.saturation)


def saturation_of(dtype: torch.dtype) -> float | None:
    """The largest finite number of a floating dtype; None for the others."""
    return torch.finfo(dtype).max if dtype.is_floating_point else None


def is_saturated(numbers: Statistics, limit: float | None) -> bool:
    """Whether an element is as large as its dtype can hold."""
    if limit is None or numbers.max is None:
        return False
    return bool(numbers.max >= limit or numbers.min <= -limit)  # type: ignore[operator]


def _odd_statistics(tensor: torch.Tensor, values: torch.Tensor, double: bool) -> Statistics:
    measured = measure(values, double)
    if tensor.layout is torch.strided or tensor.is_nested or measured.max is None:
        return measured
    missing = tensor.numel() - values.numel()
    if missing <= 0:
        return measured
    high, low = (_item(scalar) for scalar in measured[:2])
    mean = None if measured.mean is None else _item(measured.mean) * values.numel() / tensor.numel()  # type: ignore[operator]
    zero = type(high)(0)
    return Statistics(max(high, zero), min(low, zero), mean, measured.norm)  # type: ignore[call-overload]


def _item(scalar: object) -> object:
    return scalar.item() if isinstance(scalar, torch.Tensor) else scalar


def _all_finite(numbers: Statistics) -> bool:
    # Norm is the sum of squares' root: finite only when no element is NaN or infinite.
    norm = numbers.norm if numbers.norm is not None else numbers.max
    return isfinite(norm)  # type: ignore[arg-type]


def _head(tensor: torch.Tensor, shape: list[int]) -> str:
    return f'{{"type": "torch.Tensor", "dtype": "{tensor.dtype}", "shape": {shape}'


def _numbers(values: Statistics) -> str:
    return (
        f', "Max": {number(values.max)}, "Min": {number(values.min)}'  # type: ignore[arg-type]
        f', "Mean": {number(values.mean)}, "Norm": {number(values.norm)}'  # type: ignore[arg-type]
    )


def _counts(values: Statistics) -> str:
    nan = f', "nan_count": {values.nan_count}' if values.nan_count else ""
    return nan + (f', "inf_count": {values.inf_count}' if values.inf_count else "")


def _bare_record(tensor: torch.Tensor) -> str:
    try:
        head = _head(tensor, list(tensor.shape))
    except Exception:  # the shape itself may be what cannot be read
        head = f'{{"type": "torch.Tensor", "dtype": "{tensor.dtype}", "shape": []'
    return f"{head}{_numbers(EMPTY)}" + ', "requires_grad": false}'
