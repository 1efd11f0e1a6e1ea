"""Writes one tensor as a `.pt` file, the form that `torch.load` reads.

A dump writes thousands of them: the archive is laid out here in one go and written in one call,
several times as fast as torch.save. Rare dtypes and tensors beyond 2 GiB go through torch.save.
"""

from __future__ import annotations

import os
import struct
import sys
from functools import lru_cache
from pathlib import Path

import torch

from msprobe_core.torch.measure.elements import bytes_of
from msprobe_core.values.crc import crc32

_LARGEST = 2**31 - 1
_ALIGNMENT = 64
_STORAGES = {
    torch.float32: "FloatStorage",
    torch.float64: "DoubleStorage",
    torch.float16: "HalfStorage",
    torch.bfloat16: "BFloat16Storage",
    torch.int64: "LongStorage",
    torch.int32: "IntStorage",
    torch.int16: "ShortStorage",
    torch.int8: "CharStorage",
    torch.uint8: "ByteStorage",
    torch.bool: "BoolStorage",
    torch.complex64: "ComplexFloatStorage",
    torch.complex128: "ComplexDoubleStorage",
}


def write_pt(target: Path, values: torch.Tensor) -> int:
    """Write a contiguous tensor on the CPU; the file's size in bytes. Raises OSError."""
    if values.dtype in _STORAGES and 0 < values.nbytes < _LARGEST:
        return _write(target, _archive(values.dtype, tuple(values.shape), bytes_of(values)))
    return save_whole(target, values)


def save_whole(target: Path, values: torch.Tensor) -> int:
    """Write any tensor by torch.save; the file's size in bytes. Raises OSError."""
    try:
        torch.save(values, target)
    except RuntimeError as error:  # torch says so when the disk is full
        raise OSError(f"cannot write {target}: {error}") from None
    return target.stat().st_size


def _write(target: Path, parts: list[memoryview]) -> int:
    size = sum(part.nbytes for part in parts)
    file = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o640)
    try:
        written = os.writev(file, parts)
        if written < size:  # a signal, or a disk that is about to be full
            rest = memoryview(b"".join(parts))[written:]
            while rest:
                rest = rest[os.write(file, rest) :]
    finally:
        os.close(file)
    return size


def _archive(dtype: torch.dtype, shape: tuple[int, ...], elements: memoryview) -> list[memoryview]:
    """A zip archive without compression: the small members first, then the elements."""
    head, directory = _small_members(dtype, shape)
    checksum, size = crc32(elements), elements.nbytes
    local = _local_header(b"archive/data/0", checksum, size, len(head))
    directory += _directory_entry(b"archive/data/0", checksum, size, len(head))
    start = len(head) + len(local) + size
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 4, 4, len(directory), start, 0)
    return [memoryview(head + local), elements, memoryview(directory + end)]


@lru_cache(maxsize=4096)
def _small_members(dtype: torch.dtype, shape: tuple[int, ...]) -> tuple[bytes, bytes]:
    head = directory = b""
    for name, data in (
        (b"archive/data.pkl", _pickled(dtype, shape)),
        (b"archive/byteorder", sys.byteorder.encode()),
        (b"archive/version", b"3\n"),
    ):
        checksum = crc32(data)
        directory += _directory_entry(name, checksum, len(data), len(head))
        head += _local_header(name, checksum, len(data), len(head)) + data
    return head, directory


def _local_header(name: bytes, checksum: int, size: int, offset: int) -> bytes:
    # An extra field moves the data to a multiple of the alignment, as torch's own files have it.
    padding = -(offset + 30 + len(name) + 4) % _ALIGNMENT
    fields = (b"PK\3\4", 20, 0, 0, 0, 33, checksum, size, size, len(name), padding + 4)
    extra = struct.pack("<2sH", b"FB", padding) + b"Z" * padding
    return struct.pack("<4s5H3I2H", *fields) + name + extra


def _directory_entry(name: bytes, checksum: int, size: int, offset: int) -> bytes:
    head = struct.pack("<4s6H3I", b"PK\1\2", 20, 20, 0, 0, 0, 33, checksum, size, size)
    return head + struct.pack("<5H2I", len(name), 0, 0, 0, 0, 0, offset) + name


def _pickled(dtype: torch.dtype, shape: tuple[int, ...]) -> bytes:
    """`_rebuild_tensor_v2(storage, 0, shape, strides, False, OrderedDict())` in protocol 2."""
    count = 1
    strides: list[int] = []
    for length in reversed(shape):
        strides.insert(0, count)
        count *= max(length, 1)
    storage = b"(" + _text("storage") + b"ctorch\n%b\n" % _STORAGES[dtype].encode()
    storage += _text("0") + _text("cpu") + _integer(count) + b"tQ"
    arguments = storage + _integer(0) + _integers(shape) + _integers(strides)
    return (
        b"\x80\2ctorch._utils\n_rebuild_tensor_v2\n("
        + arguments
        + b"\x89ccollections\nOrderedDict\n)RtR."
    )


def _text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def _integers(values: tuple[int, ...] | list[int]) -> bytes:
    return b"(" + b"".join(map(_integer, values)) + b"t"


def _integer(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)
