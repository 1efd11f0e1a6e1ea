"""The JSON record of each tensor: computed once for each epoch of its memory, then reused.

A tensor is known by its storage and how it shows it. Values on a device are read back together, not
one by one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Literal

import torch

from msprobe_core.capture.value_options import SavesValue, ValueOptions
from msprobe_core.config.slices import Slice
from msprobe_core.torch.measure.on_devices import DeviceNumbers
from msprobe_core.torch.measure.rows import rows_text
from msprobe_core.torch.measure.strided import SIMPLE, elements_of, is_simple
from msprobe_core.torch.measure.users_modes import users_modes_off
from msprobe_core.torch.memory.book import Memory, MemoryBook, own_memory
from msprobe_core.torch.memory.flow import keep, source_of
from msprobe_core.torch.memory.holders import memories_in
from msprobe_core.torch.memory.makers import maker_of, put_out
from msprobe_core.torch.memory.unwritten import Overwritten
from msprobe_core.torch.memory.views import View, view_of
from msprobe_core.torch.record.found import Found, address_of
from msprobe_core.torch.record.parts import part_of
from msprobe_core.torch.record.placement import placement_text
from msprobe_core.torch.record.process_groups import group_or_operation
from msprobe_core.torch.record.record_maker import RecordMaker
from msprobe_core.torch.record.record_text import (
    TORCH_SCALARS,
    PendingTensor,
    bare_record,
    extended,
    unwritten_record,
)
from msprobe_core.torch.record.tensor_files import TensorFiles
from msprobe_core.values.arguments import Enclosed
from msprobe_core.values.text import quoted

Side = Literal["input", "output"] | None
"""Which part of an entry is being written: its inputs, its outputs, or neither."""
ReportError = Callable[[str, BaseException], None]
_IS_BACKWARD = ".backward."
_MODULE = "Module."


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
        saves: SavesValue | None = None,
    ) -> None:
        self.options = options
        self.slices: tuple[Slice, ...] = ()
        self._writing = _Writing()
        self._on_devices = DeviceNumbers()
        self._saves = saves
        self._files, self._report = files, report
        self._maker = RecordMaker(options, files, self._on_devices)
        self._memory = MemoryBook()
        self._closely = False
        self._known: dict[int, Found] = {}  # by the object that was last seen at an id

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
            writing = self._writing
            side = writing.side
            found = self._known.get(id(tensor))
            if found is None or not found.is_still(tensor):
                found = self._find(tensor, _joined(path, key), side == "input")
            if found.abnormal:
                writing.abnormal = True
            record = found.record
            if side is not None and self.options.flow:
                record = self._with_source(tensor, found, side, path, key)
            if found.file is not None:
                file = self._files.save_again(found.file, _joined(path, key))
                return extended(record, f', "data_name": {quoted(file)}')
            if self.options.rows and side is not None and _is_edge(path):
                record = extended(record, self._rows_of(tensor, found))
            if self._saves is not None and self._saves(_joined(path, key), str(record)):
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

    def written(self, value: object, name: str | None = None) -> None:
        """Note that a tensor, or those in a container, may just have been written.

        `name` is the value name of the output of the call that did.
        """
        with torch._C.DisableTorchFunction():
            self._memory.written(memories_in(value), name)

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
        memory = self._memory.known(storage._cdata)
        if memory is not None:
            memory.written()

    def look_closely(self, closely: bool) -> None:
        """From now on look at every byte before a record is used again, or no longer."""
        self._closely = closely
        self._known.clear()
        self._memory.look_closely(closely)

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

    def _find(self, tensor: torch.Tensor, path: str, is_input: bool) -> Found:
        """What is known of a tensor's memory as the tensor shows it, measured where nothing is."""
        own = own_memory(tensor)
        if own is None:
            return Found(tensor, None, None, self._maker.make_odd(tensor, path, None, is_input))
        view = view_of(own)
        is_plain = view.keys in SIMPLE
        memory = self._memory.at(own, is_plain)
        key = (view, tensor.requires_grad, None if own is tensor else placement_text(tensor))
        known: Found | None = None if memory.is_open else memory.records.get(key)
        if known is not None:
            return known
        is_read_in_place = is_plain and own is tensor and memory.has_place
        make = self._maker.make if is_read_in_place else self._maker.make_odd
        found = Found(tensor, memory, view, make(tensor, path, memory, is_input))
        if not memory.is_open and not memory.has_other_names(own):
            memory.records[key] = found
            if own is tensor and not self._closely:
                found.address = address_of(tensor)
                self._known[id(tensor)] = found
        return found

    def _with_source(
        self, tensor: torch.Tensor, found: Found, side: Side, path: str, key: object
    ) -> str | PendingTensor:
        """The record of an input with the output that it is; an output is remembered as one."""
        memory, view = found.memory, found.view
        if memory is None or view is None:
            return found.record
        if side == "output":
            name = _joined(path, key)
            if not found.source:
                found.source = name
                keep(memory, view, name)
            if _IS_BACKWARD in path:
                return found.record
            if memory.shown and path.startswith(_MODULE):
                # A module hands on what a call inside it has put out.
                return self._handed_on(tensor, found, memory, view)
            put_out(tensor, memory, view, name)
            return found.record
        if found.source is None:
            found.source = source_of(memory, view) or ""
        text = f', "source": {quoted(found.source)}' if found.source else ""
        maker = maker_of(tensor, memory, view)
        if maker is not None and maker != found.source and _IS_BACKWARD not in path:
            text += f', "through": {quoted(maker)}'
        return extended(found.record, text) if text else found.record

    def _handed_on(
        self, tensor: torch.Tensor, found: Found, memory: Memory, view: View
    ) -> str | PendingTensor:
        """The record of an output with the call whose output it is, if that has no record."""
        maker = maker_of(tensor, memory, view)
        if maker is None or maker == found.source:
            return found.record
        return extended(found.record, f', "through": {quoted(maker)}')

    def maker_of(self, tensor: torch.Tensor) -> str | None:
        """The value name of the output that a tensor is, also of a call that leaves no values."""
        own = own_memory(tensor)
        if own is None:
            return None
        memory = self._memory.without_a_look(own, is_simple(own))
        return maker_of(tensor, memory, view_of(own))

    def put_out(self, tensor: torch.Tensor, name: str) -> None:
        """Note that a tensor is the output of that value name, which leaves no record."""
        own = own_memory(tensor)
        if own is not None:
            memory = self._memory.without_a_look(own, is_simple(own))
            put_out(tensor, memory, view_of(own), name)

    @staticmethod
    def _rows_of(tensor: torch.Tensor, found: Found) -> str:
        """The rows of a tensor, which are made once for each epoch of its memory."""
        if found.rows is None:
            values = tensor if is_simple(tensor) else elements_of(tensor)
            with users_modes_off(), torch.no_grad():
                found.rows = rows_text(values) if values.layout is torch.strided else ""
        return found.rows

    def _with_file(
        self, tensor: torch.Tensor, path: str, record: str | PendingTensor
    ) -> str | PendingTensor:
        values = tensor if is_simple(tensor) else elements_of(tensor)
        return extended(record, f', "data_name": {quoted(self._files.save(values, path))}')


def _is_edge(path: str) -> bool:
    """Whether a value is one that a module reads or puts out in a forward pass."""
    return path.startswith(_MODULE) and _IS_BACKWARD not in path


def _joined(path: str, key: object) -> str:
    return path if key is None else f"{path}.{key}"
