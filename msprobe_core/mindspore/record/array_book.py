"""Makes the records of one step: what a tensor holds, as JSON text, the moment it is met."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from mindspore import Tensor
from mindspore.common import dtype as mstype
from numpy.typing import NDArray

from msprobe_core.capture.value_options import SavesValue, ValueOptions
from msprobe_core.config.slices import Slice
from msprobe_core.errors import WriteError
from msprobe_core.mindspore.record.arrays import array_of
from msprobe_core.mindspore.record.measure import EMPTY, measure, measure_and_sketch
from msprobe_core.mindspore.record.npy_files import NpyFiles
from msprobe_core.values.arguments import Enclosed, Scalars
from msprobe_core.values.crc import crc32
from msprobe_core.values.text import quoted, typed

Report = Callable[[str, BaseException], None]


class _Told(NamedTuple):
    """The members of a tensor's record; `crc` is that of its bytes in row-major order."""

    tensor: weakref.ref[Any]
    shape: tuple[int, ...]
    crc: int
    text: str
    abnormal: bool

    def holds(self, tensor: Tensor, array: NDArray[Any], crc: int) -> bool:
        """Whether it is still true of a tensor."""
        return self.crc == crc and self.tensor() is tensor and self.shape == array.shape


class ArrayBook:
    """The values of one step. Numbers are read at once: on the CPU an array is live memory.

    `_made` leads from a tensor, by identity, to the output that put it out: what is told as
    `source` of an input. It holds no tensor.
    """

    tensor_type = Tensor
    has_pending = False

    def __init__(
        self, options: ValueOptions, files: NpyFiles, report: Report, saves: SavesValue | None
    ) -> None:
        self.abnormal = False
        self.side: Literal["input", "output"] | None = None
        self.slices: tuple[Slice, ...] = ()  # no setting asks for parts of arrays
        self.scalars: Scalars = {**_NUMPY_SCALARS, type(mstype.float32): _dtype_text}
        self._options, self._files, self._report, self._saves = options, files, report, saves
        self._made: dict[int, tuple[weakref.ref[Any], str]] = {}
        self._known: dict[int, _Told] = {}

    def record(self, tensor: Any, path: str, key: object = None) -> str:
        """The record of a tensor at `path`, or at `path.key`; never raises."""
        where = path if key is None else f"{path}.{key}"
        try:
            return self._record(tensor, where)
        except WriteError as error:
            self._report(where, error)
            return _bare(tensor)
        except Exception as error:  # nothing of this may reach the user's step
            self._report(where, error)
            return _bare(tensor)

    def special(self, value: object) -> str | Enclosed | None:
        """A value that is neither tensor, scalar nor container; a dtype's class has many types."""
        if isinstance(value, mstype.Type):
            return _dtype_text(value)
        if isinstance(value, np.ndarray):
            return typed("numpy.ndarray", quoted(f"{value.dtype} {list(value.shape)}"))
        return None

    def forget_all(self) -> None:
        """Hold nothing of the step any more."""
        self._made.clear()
        self._known.clear()

    def written(self, value: object) -> None:
        """Note that a tensor was just written: it is no longer what a call put out."""
        self._made.pop(id(value), None)

    def read_back(self) -> None:
        """Numbers lie on no device: they are read at once."""

    def _record(self, tensor: Tensor, path: str) -> str:
        options = self._options
        array = array_of(tensor)
        told = self._told(tensor, array)
        self.abnormal |= told.abnormal
        text = told.text
        if options.save or (self._saves is not None and self._saves(path, text)):
            text += f', "data_name": {quoted(self._files.save(array, path))}'
        return f"{text}{self._source(tensor, path)}}}"

    def _told(self, tensor: Tensor, array: NDArray[Any]) -> _Told:
        """What is told of a tensor: as before, where it is the same object with the same bytes.

        What one call puts out others take in. Nothing tells whether a tensor was written to since,
        so that its bytes are looked at: their checksum costs a part of measuring them.
        """
        known, data = self._known.get(id(tensor)), np.ascontiguousarray(array)
        crc = crc32(data)
        if known is not None and known.holds(tensor, array, crc):
            return known
        options, sketched = self._options, ""
        if not options.statistics:
            measured = EMPTY
        elif options.sketch:
            measured, sketched = measure_and_sketch(array)
        else:
            measured = measure(array)
        text = f"{_head(tensor)}{measured.text}{sketched}"
        if options.checksum is not None:
            text += f', "md5": {quoted(_xor(data) if options.checksum == "xor" else f"{crc:08x}")}'
        told = _Told(weakref.ref(tensor), array.shape, crc, text, measured.abnormal)
        self._known[id(tensor)] = told
        return told

    def _source(self, tensor: Tensor, path: str) -> str:
        """Where an input comes from; an output is remembered, the first that shows it."""
        if not self._options.flow:
            return ""
        known = self._made.get(id(tensor))
        is_known = known is not None and known[0]() is tensor
        if self.side == "output" and not is_known and ".backward" not in path:
            self._made[id(tensor)] = (weakref.ref(tensor), path)
        elif self.side == "input" and is_known and known is not None:
            return f', "source": {quoted(known[1])}'
        return ""


def _xor(data: NDArray[Any]) -> str:
    """XOR of the 64-bit words of the bytes."""
    raw = np.frombuffer(data.tobytes(), dtype=np.uint8)
    padded = np.concatenate([raw, np.zeros(-raw.size % 8, dtype=np.uint8)])
    return f"0x{int(np.bitwise_xor.reduce(padded.view('<u8'))):016x}"


def _head(tensor: Tensor) -> str:
    shape = [int(size) for size in tensor.shape]
    return f'{{"type": "mindspore.Tensor", "dtype": "{tensor.dtype}", "shape": {shape}'


def _bare(tensor: Tensor) -> str:
    """The record of a tensor that cannot be measured."""
    try:
        return f"{_head(tensor)}{EMPTY.text}}}"
    except Exception:  # the shape itself may be what cannot be read
        return "null"


def _dtype_text(value: object) -> str:
    return typed("mindspore.dtype", quoted(str(value)))


_NUMPY_SCALARS: Scalars = {
    np.float32: lambda value: typed("float", repr(float(value))),
    np.float64: lambda value: typed("float", repr(float(value))),
    np.int32: lambda value: typed("int", str(int(value))),
    np.int64: lambda value: typed("int", str(int(value))),
    np.bool_: lambda value: typed("bool", "true" if value else "false"),
}
