"""Reads the pickle inside a tensor file without running anything that it names.

It may name the parts that a plain tensor is made of; they become records of ours, and any other
name ends the reading.
"""

from __future__ import annotations

import io
import pickle
from dataclasses import dataclass
from functools import lru_cache
from math import prod

_LONGEST = 1 << 16


class UnknownFormError(ValueError):
    """A pickle of torch's that is no plain tensor; torch itself may be able to read it."""


class RefusedPickleError(ValueError):
    """A pickle that names something which is no part of a tensor."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a tensor's elements lie in a storage: offset and strides in elements.

    `count` is how many there are, `stop` the end of the last one's place.
    """

    storage: str
    dtype: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    count: int
    stop: int
    contiguous: bool


@lru_cache(maxsize=4096)
def read_layout(data: bytes) -> Layout:
    """The layout that a pickle describes; equal pickles, as most of a dump are, cost nothing.

    Raises UnknownFormError and RefusedPickleError, and ValueError for what is no pickle.
    """
    if len(data) > _LONGEST:
        raise UnknownFormError("its description is too long for one tensor")
    try:
        unpickled = _Unpickler(io.BytesIO(data)).load()
    except (UnknownFormError, RefusedPickleError):
        raise
    except Exception as error:  # broken bytes lead the unpickler to whatever exception
        raise ValueError(f"broken pickle ({type(error).__name__})") from error
    if isinstance(unpickled, Layout):
        return unpickled
    kind = unpickled.name if isinstance(unpickled, _Named) else type(unpickled).__name__
    raise RefusedPickleError(f"holds a {kind}, no tensor")


@dataclass(frozen=True, slots=True)
class _Storage:
    key: str
    dtype: str


@dataclass(frozen=True, slots=True)
class _Named:
    """Something of torch's by name; calling it makes the record that it stands for."""

    name: str

    def __call__(self, *arguments: object) -> object:
        if self.name == "OrderedDict":
            return {}
        if self.name == "_rebuild_parameter":
            return arguments[0]
        if self.name == "_rebuild_tensor_v2":
            return _layout(arguments[:4], rest=arguments[6:])
        if self.name == "_rebuild_tensor_v3":
            dtype = arguments[6]
            assert isinstance(dtype, _Named)
            return _layout(arguments[:4], rest=arguments[7:], dtype=dtype.name)
        raise RefusedPickleError(f"refused: its pickle calls {self.name}")


def _layout(
    place: tuple[object, ...], rest: tuple[object, ...], dtype: str | None = None
) -> Layout:
    if any(rest):
        raise UnknownFormError("carries further attributes, such as a lazy conjugate")
    storage, offset, shape, strides = place
    assert isinstance(storage, _Storage) and isinstance(offset, int)
    assert isinstance(shape, tuple) and isinstance(strides, tuple)
    whole = [*shape, *strides, offset]
    if len(shape) != len(strides) or not all(isinstance(n, int) and n >= 0 for n in whole):
        raise RefusedPickleError("refused: its layout is impossible")
    count = prod(shape)
    stop = offset + sum((n - 1) * s for n, s in zip(shape, strides)) + 1 if count else 0
    rows = tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
    contiguous = count == 0 or strides == rows
    name = dtype or storage.dtype
    return Layout(storage.key, name, offset, shape, strides, count, stop, contiguous)


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        if (module, name) in _PARTS or (module == "torch" and name in _STORAGES):
            return _Named(name)
        if module == "torch" and name.islower():
            return _Named(name)  # a dtype
        if module == "torch" or module.startswith("torch."):
            raise UnknownFormError(f"is made by {module}.{name}")
        raise RefusedPickleError(f"refused: its pickle names {module}.{name}, no part of a tensor")

    def persistent_load(self, pid: object) -> object:
        if not isinstance(pid, tuple) or len(pid) < 3 or not isinstance(pid[1], _Named):
            raise RefusedPickleError("refused: its pickle names an unknown storage")
        dtype = _STORAGES.get(pid[1].name)
        if dtype is None:
            raise UnknownFormError(f"is stored as {pid[1].name}")
        return _Storage(str(pid[2]), dtype)


_PARTS = {
    ("torch._utils", "_rebuild_tensor_v2"),
    ("torch._utils", "_rebuild_tensor_v3"),
    ("torch._utils", "_rebuild_parameter"),
    ("torch.storage", "UntypedStorage"),
    ("collections", "OrderedDict"),
}
_STORAGES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "ComplexDoubleStorage": "complex128",
    "ComplexFloatStorage": "complex64",
    "ByteStorage": "uint8",
    "CharStorage": "int8",
    "ShortStorage": "int16",
    "IntStorage": "int32",
    "LongStorage": "int64",
    "BoolStorage": "bool",
    "UntypedStorage": "uint8",
}
