"""Makes the record of a tensor as it is now: numbers, sketch, checksum, file."""

from __future__ import annotations

import torch

from msprobe_core.capture.value_options import ValueOptions
from msprobe_core.torch.measure.checksum import crc32_of, xor_of
from msprobe_core.torch.measure.numbers import Measured, measure_now, measure_sparse
from msprobe_core.torch.measure.on_devices import DeviceNumbers, is_deferred
from msprobe_core.torch.measure.sketch import repeats_too_much
from msprobe_core.torch.measure.sketched_numbers import measure_and_sketch, sketch_of
from msprobe_core.torch.measure.strided import Unreadable, elements_of, shape_of
from msprobe_core.torch.memory.book import Memory
from msprobe_core.torch.memory.whole import WholeStorage, covers_all
from msprobe_core.torch.record.found import Made
from msprobe_core.torch.record.placement import placement_text
from msprobe_core.torch.record.record_text import NO_NUMBERS, UNWRITTEN, PendingTensor, head_of
from msprobe_core.torch.record.tensor_files import TensorFiles
from msprobe_core.values.text import number

_CHECKSUMS = {"md5": crc32_of, "xor": xor_of}
_REQUIRES_GRAD, _REQUIRES_NONE = ', "requires_grad": true', ', "requires_grad": false'
_SMALL = 2048  # measuring that many elements again costs less than remembering their storage


class RecordMaker:
    """Makes records; numbers on a device are asked of `devices`, elements are saved in `files`."""

    def __init__(self, options: ValueOptions, files: TensorFiles, devices: DeviceNumbers) -> None:
        self.options = options
        self._files, self._devices = files, devices
        self._heads: dict[tuple[torch.dtype, torch.Size], str] = {}

    def make(self, tensor: torch.Tensor, path: str, memory: Memory | None, is_input: bool) -> Made:
        """The record of a plain strided tensor on the CPU that stands at `path`."""
        tail = _REQUIRES_GRAD if tensor.requires_grad else _REQUIRES_NONE
        key = (tensor.dtype, tensor.shape)
        head = self._heads.get(key)
        if head is None:
            head = self._heads[key] = head_of(tensor.dtype, list(tensor.shape))
        if _is_unwritten(tensor, memory, is_input):
            return Made(f"{head}{NO_NUMBERS}{tail}{UNWRITTEN}}}")
        if memory is not None and memory.ends_within(tensor):
            return Made(f"{head}{NO_NUMBERS}{tail}}}")
        options = self.options
        checksum, file = self._bytes_of(tensor, path, memory)
        tail += checksum
        if not options.statistics:
            return Made(f"{head}{tail}}}", file=file)
        measured, sketched = self._numbers_of(tensor, memory)
        record = f"{head}{measured.text}{sketched}{tail}{measured.counts}}}"
        return Made(record, measured.abnormal, file)

    def _numbers_of(self, tensor: torch.Tensor, memory: Memory | None) -> tuple[Measured, str]:
        """Statistics and sketch; views of a whole storage share the one, those in C order both."""
        double = self.options.double
        storage = _whole(tensor, memory) if tensor.numel() >= _SMALL else None
        if storage is None:
            return self._measured(tensor)
        if not self.options.sketch or not tensor.is_contiguous():
            storage.measured = measured = storage.measured or measure_now(tensor, double)
            return measured, self._sketch(tensor, measured)
        if storage.measured is None:
            storage.measured, storage.sketch = self._measured(tensor)
        elif storage.sketch is None:
            storage.sketch = self._sketch(tensor, storage.measured)
        return storage.measured, storage.sketch or ""

    def _measured(self, tensor: torch.Tensor) -> tuple[Measured, str]:
        if not self.options.sketch or not tensor.numel():
            return measure_now(tensor, self.options.double), ""
        return measure_and_sketch(tensor, self.options.double)

    def _sketch(self, tensor: torch.Tensor, measured: Measured) -> str:
        return sketch_of(tensor, measured, self.options.double) if self.options.sketch else ""

    def make_odd(
        self, tensor: torch.Tensor, path: str, memory: Memory | None, is_input: bool
    ) -> Made:
        """The record of any other tensor: on a device, sparse, distributed, a subclass."""
        options = self.options
        tail = _REQUIRES_GRAD if tensor.requires_grad else _REQUIRES_NONE
        tail += placement_text(tensor) or ""
        head = head_of(tensor.dtype, shape_of(tensor))
        if _is_unwritten(tensor, memory, is_input):
            return Made(f"{head}{NO_NUMBERS}{tail}{UNWRITTEN}}}")
        try:
            values = elements_of(tensor)
        except Unreadable:
            return Made(f"{head}{NO_NUMBERS}{tail}}}")
        checksum, file = self._bytes_of(values, path, None)
        tail += checksum
        if not options.statistics:
            return Made(f"{head}{tail}}}", file=file)
        if is_deferred(values):
            with_sketch = options.sketch and not repeats_too_much(values)
            numbers = self._devices.measure(values, options.double, with_sketch)
            return Made(PendingTensor(head, numbers, tail), file=file)
        is_sparse = tensor.layout is not torch.strided and not tensor.is_nested
        # The places of a sparse tensor's elements are not in the order of its stored ones.
        measured, sketched = (
            (measure_sparse(tensor, values), "") if is_sparse else self._measured(values)
        )
        record = f"{head}{measured.text}{sketched}{tail}{measured.counts}}}"
        return Made(record, measured.abnormal, file)

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


def _is_unwritten(tensor: torch.Tensor, memory: Memory | None, is_input: bool) -> bool:
    """Whether nobody has written a tensor.

    Inference tensors have no version: their mark goes with the first call that takes them.
    """
    if memory is None or not memory.unwritten:
        return False
    if is_input and tensor.is_inference():
        memory.unwritten = False
    return True
