"""Finds the parts of a `.pt` file: a zip archive whose entries are stored as they are.

One read of the head serves a small file, one more of the end a large one; most of a dump's files
are so small that the standard zipfile module would take most of the time.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator

from builder.dump.tensor_data import Buffer

_HEAD = 1 << 15
_TAIL = 1 << 13
# The fixed parts of the records in APPNOTE.TXT 4.3.12, 4.3.16 and 4.3.7, without what we skip.
_ENTRY = struct.Struct("<4s6xH4x3L3H8xL")
_ENTRY_MARK = b"PK\x01\x02"
_END = struct.Struct("<4s8x2L2x")
_END_MARK = b"PK\x05\x06"
_LOCAL = struct.Struct("<4s22x2H")
_LOCAL_MARK = b"PK\x03\x04"
_ELSEWHERE = 0xFFFFFFFF  # a size or offset of 4 GB and more stands in an extra field
_WIDE = struct.Struct("<2H")


class UnknownArchiveError(ValueError):
    """A file that is no archive of plainly stored entries."""


class Archive:
    """The entries of an open file, found when they are asked for."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._head = os.read(file, _HEAD)
        whole = len(self._head) < _HEAD
        self._size = len(self._head) if whole else os.lseek(file, 0, os.SEEK_END)
        self._directory = self._find_directory()
        name_length = self._entry(0)[5]
        name = self._directory[_ENTRY.size : _ENTRY.size + name_length]
        # All names begin with a folder that is called after the file.
        self._folder = name[: name.index(b"/") + 1] if b"/" in name else b""

    def read(self, start: int, stop: int) -> Buffer:
        """The bytes of the file from `start` to `stop`; EOFError when it is shorter."""
        if stop > self._size:
            raise EOFError  # before memory is taken for what a damaged directory says
        if stop <= len(self._head):
            return memoryview(self._head)[start:stop]
        os.lseek(self._file, start, os.SEEK_SET)
        parts, wanted = [], stop - start
        while wanted:
            part = os.read(self._file, wanted)
            if not part:
                raise EOFError
            parts.append(part)
            wanted -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def place(self, name: bytes) -> tuple[int, int]:
        """Where an entry's bytes begin, and how many they are."""
        at = self._find(name)
        if at is None:
            raise UnknownArchiveError(f"has no entry {name.decode()}")
        _, method, _, stored, length, _, _, _, local = self._entry(at)
        if method != 0:
            raise UnknownArchiveError("is compressed")
        if _ELSEWHERE in (stored, length, local):
            length, local = self._wide_place(at, stored, length, local)
        mark, name_length, extra_length = _LOCAL.unpack(self.read(local, local + _LOCAL.size))
        if mark != _LOCAL_MARK:
            raise ValueError("its directory points beside its entries")
        return local + _LOCAL.size + name_length + extra_length, length

    def is_little_endian(self) -> bool:
        """Whether the archive says so, or says nothing: old ones are little-endian."""
        at = self._find(b"byteorder")
        return at is None or self._entry(at)[2] == _LITTLE

    def _find_directory(self) -> bytes:
        start = max(0, self._size - _TAIL)
        tail = bytes(self.read(start, self._size))
        place = tail.rfind(_END_MARK)
        if place < 0 or place + _END.size > len(tail):
            raise UnknownArchiveError("is no zip archive")
        _, length, offset = _END.unpack_from(tail, place)
        if offset == _ELSEWHERE or offset + length > self._size:
            # The end record of large archives lies before this one; its fields end with these.
            wide = tail.rfind(b"PK\x06\x06", 0, place)
            if wide < 0:
                raise ValueError("its directory is missing")
            length, offset = struct.unpack_from("<2Q", tail, wide + 40)
        return bytes(self.read(offset, offset + length))

    def _entry(self, at: int) -> tuple[bytes, int, int, int, int, int, int, int, int]:
        """Mark, method, checksum, sizes, lengths of name, extra and comment, local offset."""
        fields = _ENTRY.unpack_from(self._directory, at)
        if fields[0] != _ENTRY_MARK:
            raise ValueError("its directory is damaged")
        return fields

    def _find(self, name: bytes) -> int | None:
        """The offset of an entry in the directory."""
        wanted = self._folder + name
        place = self._directory.find(wanted)
        while place >= 0:
            at = place - _ENTRY.size
            header = at >= 0 and self._directory[at : at + 4] == _ENTRY_MARK
            if header and self._entry(at)[5] == len(wanted):
                return at
            place = self._directory.find(wanted, place + 1)
        return None

    def _wide_place(self, at: int, stored: int, length: int, local: int) -> tuple[int, int]:
        """Length and local offset from the extra field of an entry in a large archive."""
        numbers = self._wide_numbers(at)
        fields = [next(numbers) if n == _ELSEWHERE else n for n in (length, stored, local)]
        return fields[0], fields[2]

    def _wide_numbers(self, at: int) -> Iterator[int]:
        _, _, _, _, _, name_length, extra_length, _, _ = self._entry(at)
        place = at + _ENTRY.size + name_length
        end = place + extra_length
        while place + _WIDE.size <= end:
            kind, length = _WIDE.unpack_from(self._directory, place)
            place += _WIDE.size
            if kind == 1:
                yield from struct.unpack_from(f"<{length // 8}Q", self._directory, place)
                return
            place += length
        raise ValueError("its directory lacks the size of a large entry")


_LITTLE = zlib.crc32(b"little")
