"""Opens dumped tensors: `.pt` files of torch and `.npy` files, without torch where they are plain.

A `.pt` file is a zip archive of uncompressed entries: a pickle with the layout, and the storage.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from builder.measure.tensor_data import Buffer, NumberFormat, TensorData, data_of, number_format
from builder.measure.tensor_pickles import (
    Layout,
    RefusedPickleError,
    UnknownFormError,
    read_layout,
)

_HEAD = 1 << 16
_TAIL = 1 << 13
_END = struct.Struct("<4s4H2LH")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL_BYTES = 30
_ELSEWHERE = 0xFFFFFFFF  # a size or offset of 4 GB and more stands in an extra field
# name → (offset of the local header, bytes)
_Entries = dict[str, tuple[int, int]]


class TensorFileError(ValueError):
    """A tensor file that cannot be read or is refused."""


@contextmanager
def open_tensor(path: Path) -> Iterator[TensorData]:
    """The numbers of a dumped tensor, readable inside the block.

    Raises TensorFileError for a missing or broken file and for a pickle that holds code.
    """
    try:
        if path.suffix == ".npy":
            yield _load_npy(path)
            return
        with path.open("rb", buffering=0) as file:
            yield _open_pt(path, file)
    except FileNotFoundError:
        raise TensorFileError("missing") from None
    except OSError as error:
        raise TensorFileError(error.strerror or "not readable") from error


def _load_npy(path: Path) -> TensorData:
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise TensorFileError(_refusal(error)) from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biufc":
        raise TensorFileError("holds no array of numbers")
    return data_of(array)


def _open_pt(path: Path, file: io.RawIOBase) -> TensorData:
    try:
        return _open_archive(_Archive(file))
    except RefusedPickleError as error:
        raise TensorFileError(str(error)) from None
    except UnknownFormError as error:
        return _load_with_torch(path, str(error))
    except (ValueError, struct.error) as error:
        raise TensorFileError(f"broken: {error}") from error


def _open_archive(archive: _Archive) -> TensorData:
    layout = read_layout(archive.content("/data.pkl"))
    if archive.has("/byteorder") and archive.content("/byteorder") != b"little":
        raise UnknownFormError("is big-endian")
    numbers = number_format(layout.dtype)
    if numbers is None:
        raise UnknownFormError(f"has the dtype {layout.dtype}")
    start, length = archive.place(f"/data/{layout.storage}")
    count = prod(layout.shape)
    reach = layout.offset + sum((n - 1) * s for n, s in zip(layout.shape, layout.strides)) + 1
    if count and reach * numbers.element_bytes > length:
        raise ValueError("its storage is shorter than its shape")
    if count and layout.strides != _contiguous(layout.shape):
        return _gather(archive, layout, numbers, start)
    first = start + layout.offset * numbers.element_bytes
    return TensorData(numbers, count * numbers.parts, archive.reader(first))


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def _gather(archive: _Archive, layout: Layout, numbers: NumberFormat, start: int) -> TensorData:
    # Strides of any kind: the storage is in memory whole, once, in its own narrow dtype.
    width = numbers.element_bytes
    steps = [(n - 1) * s for n, s in zip(layout.shape, layout.strides)]
    length = (layout.offset + sum(steps) + 1) * width
    raw = np.frombuffer(archive.reader(start)(0, length), dtype=f"V{width}")
    view = np.lib.stride_tricks.as_strided(
        raw[layout.offset :], layout.shape, [s * width for s in layout.strides], writeable=False
    )
    flat = np.ascontiguousarray(view).reshape(-1).tobytes()
    return TensorData(numbers, view.size * numbers.parts, lambda a, b: memoryview(flat)[a:b])


def _load_with_torch(path: Path, reason: str) -> TensorData:
    try:
        import torch
    except ImportError:
        raise TensorFileError(f"{reason}; install torch to read it") from None
    try:
        tensor = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch.load raises whatever the broken bytes lead it to
        raise TensorFileError(_refusal(error)) from error
    if not isinstance(tensor, torch.Tensor):
        raise TensorFileError(f"holds a {type(tensor).__name__}, no tensor")
    tensor = tensor.detach().to_dense().resolve_conj().resolve_neg().contiguous()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    if tensor.dtype is torch.bfloat16 or "float8" in str(tensor.dtype):
        tensor = tensor.to(torch.float32)
    return data_of(tensor.numpy())


def _refusal(error: Exception) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return f"refused: {lines[0][:120]}"


class _Archive:
    """The entries of a zip archive whose first and last bytes are read at once."""

    def __init__(self, file: io.RawIOBase) -> None:
        self._file = file
        self._head = file.read(_HEAD) or b""
        self._entries = self._directory()

    def has(self, name: str) -> bool:
        """Whether there is an entry with this end of its name."""
        return name in self._entries

    def content(self, name: str) -> bytes:
        """The bytes of an entry."""
        start, length = self.place(name)
        return bytes(self.reader(start)(0, length))

    def place(self, name: str) -> tuple[int, int]:
        """Offset and length of an entry's bytes."""
        if name not in self._entries:
            raise UnknownFormError(f"has no entry {name}")
        local, length = self._entries[name]
        header = self.reader(local)(0, _LOCAL_BYTES)
        if bytes(header[:4]) != b"PK\x03\x04":
            raise ValueError("no entry where the directory says")
        name_length, extra_length = struct.unpack_from("<2H", header, 26)
        return local + _LOCAL_BYTES + name_length + extra_length, length

    def reader(self, first: int) -> Callable[[int, int], Buffer]:
        """A function that gives the bytes from `first + start` to `first + stop`."""
        head, file = memoryview(self._head), self._file

        def read(start: int, stop: int) -> Buffer:
            if first + stop <= len(head):
                return head[first + start : first + stop]
            file.seek(first + start)
            data = file.read(stop - start) or b""
            while len(data) < stop - start:
                more = file.read(stop - start - len(data))
                if not more:
                    raise TensorFileError("broken: it ends too early")
                data += more
            return data

        return read

    def _directory(self) -> _Entries:
        size = self._file.seek(0, io.SEEK_END)
        start = max(0, size - _TAIL)
        tail = bytes(self.reader(start)(0, size - start))
        if len(tail) < _END.size or tail[-_END.size : -_END.size + 4] != b"PK\x05\x06":
            return self._slow_directory()
        *_, count, length, offset, _comment = _END.unpack(tail[-_END.size :])
        if offset < start or offset + length > size:
            return self._slow_directory()
        found = _parse_directory(tail[offset - start : offset - start + length], count)
        return found if found is not None else self._slow_directory()

    def _slow_directory(self) -> _Entries:
        # Archives of more than 4 GB, with a comment, or with very many entries; or none at all.
        try:
            with zipfile.ZipFile(cast(BinaryIO, self._file)) as archive:
                listed = archive.infolist()
        except zipfile.BadZipFile:
            raise UnknownFormError("is no zip archive") from None
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in listed):
            raise UnknownFormError("is compressed")
        return {_tail_name(e.filename): (e.header_offset, e.file_size) for e in listed}


def _parse_directory(data: Buffer, count: int) -> _Entries | None:
    entries: _Entries = {}
    place = 0
    for _ in range(count):
        fields = _ENTRY.unpack_from(data, place)
        method, stored, length = fields[4], fields[8], fields[9]
        name_length, extra_length, comment_length, local = *fields[10:13], fields[16]
        if method != 0 or stored != length or _ELSEWHERE in (length, local):
            return None
        place += _ENTRY.size
        name = str(data[place : place + name_length], "utf-8", "replace")
        entries[_tail_name(name)] = (local, length)
        place += name_length + extra_length + comment_length
    return entries


def _tail_name(name: str) -> str:
    # The first folder is named after the file.
    return "/" + name.partition("/")[2]
