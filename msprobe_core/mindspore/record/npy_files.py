"""Saves arrays under `dump_tensor_data`: a `.npy` for each value, called like the value."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from msprobe_core.errors import WriteError

_LONGEST = 240  # bytes; file systems take 255, and some of them use a few for themselves
_FORBIDDEN = str.maketrans({"/": "_", "\\": "_", "\0": "_"})


class NpyFiles:
    """Writes files into one directory, which is made on the first save.

    A file has its name once it is whole. `deferred` keeps copies until `finish`.
    """

    def __init__(self, directory: Path, deferred: bool) -> None:
        self.directory = directory
        self._deferred = deferred
        self._kept: list[tuple[NDArray[Any], str]] = []
        self.count = self.bytes = 0

    def save(self, array: NDArray[Any], path: str) -> str:
        """Write an array; its file name. Raises WriteError as the file system does."""
        name = file_name(path)
        self.count += 1
        if self._deferred:
            self._kept.append((array.copy(), name))
        else:
            self._write(array, name)
        return name

    def finish(self) -> None:
        """Write what was kept. Raises WriteError as the file system does."""
        while self._kept:
            self._write(*self._kept.pop(0))

    def _write(self, array: NDArray[Any], name: str) -> None:
        target = self.directory / name
        partial = target.with_suffix(".partial")
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as file:
                np.save(file, array, allow_pickle=False)
            self.bytes += partial.stat().st_size
            partial.replace(target)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise WriteError(error.errno, error.strerror or str(error)) from error


def file_name(path: str) -> str:
    """The file of a value: its name, where a file can have it; else shortened, with a checksum."""
    encoded = path.encode("utf-8", "replace")
    kept = encoded.decode().translate(_FORBIDDEN)
    if kept == path and len(encoded) + len(".npy") <= _LONGEST:
        return f"{path}.npy"
    short = kept.encode()[: _LONGEST - 13].decode("utf-8", "ignore")
    return f"{short}.{zlib.crc32(encoded):08x}.npy"
