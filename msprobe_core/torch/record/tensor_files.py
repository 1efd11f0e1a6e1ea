"""Saves tensors under `dump_tensor_data`: a file for each value, called like the value.

A tensor that several values are is written once; the other names are links to the same file.
"""

from __future__ import annotations

import errno
import os
import shutil
import zlib
from pathlib import Path

import torch

from msprobe_core.errors import WriteError
from msprobe_core.torch.measure.storages import storage_size
from msprobe_core.torch.measure.strided import plain_bytes
from msprobe_core.torch.measure.users_modes import users_modes_off
from msprobe_core.torch.record.pt_file import save_whole, write_pt

_LONGEST = 240  # bytes; file systems take 255, and some of them use a few for themselves
_MOST_SPREAD = 2**26
"""Bytes up to which a tensor that repeats its elements is written as if it did not."""
_FORBIDDEN = str.maketrans({"/": "_", "\\": "_", "\0": "_"})


class TensorFiles:
    """Writes `<value name>.pt` files into one directory, created on the first save.

    `deferred` keeps copies on their devices until `finish`. Every file has its name until then, in
    the order in which they were saved: a name is never linked before its file is written.
    """

    def __init__(self, directory: Path, deferred: bool) -> None:
        self.directory = directory
        self._deferred = deferred
        self._kept: list[tuple[torch.Tensor | str, str]] = []
        self._full: dict[str, str] = {}
        """By the name that was saved: the copy that further names go to, as it can take no more."""
        self.count = 0
        self.bytes = 0

    def save(self, tensor: torch.Tensor, path: str) -> str:
        """Write the tensor; its file name. Raises OSError as the file system does."""
        name = file_name(path)
        # A copy holds the values alone: a view would carry its whole storage into the file.
        values = plain_bytes(tensor.detach()).resolve_conj().resolve_neg()
        if values.numel() * values.element_size() > _MOST_SPREAD and 0 in values.stride():
            self._write_repeated(values, name)
            return name
        values = values.contiguous()
        if self._deferred:
            self._kept.append((values.clone(), name))
        else:
            self._write(values, name)
        return name

    def save_again(self, file: str, path: str) -> str:
        """Give the tensor of a file that was saved here another name, that of its own value.

        Raises OSError as the file system does.
        """
        name = file_name(path)
        if name == file:
            return name
        if self._deferred:
            self._kept.append((file, name))
        else:
            self._link(file, name)
        return name

    def finish(self) -> None:
        """Write what was kept. Raises OSError as the file system does."""
        if not self._kept:
            return
        with users_modes_off(), torch.no_grad():
            while self._kept:
                what, name = self._kept.pop(0)
                if isinstance(what, str):
                    self._link(what, name)
                else:
                    self._write(what, name)

    def _write_repeated(self, values: torch.Tensor, name: str) -> None:
        """Write the elements that lie in memory, once, with strides that repeat them."""
        once = values
        for dim, step in enumerate(values.stride()):
            if step == 0:
                once = once.narrow(dim, 0, 1)
        target = self._new(name)
        self.bytes += save_whole(target, once.cpu().clone().expand(values.shape))

    def _write(self, values: torch.Tensor, name: str) -> None:
        try:
            self._write_file(values, name)
        except OSError as error:  # not to be taken for one of the user's own values
            raise WriteError(error.errno, error.strerror or str(error)) from error

    def _write_file(self, values: torch.Tensor, name: str) -> None:
        target = self._new(name)
        if storage_size(values) != values.numel() * values.element_size():
            values = values.clone()
        self.bytes += write_pt(target, values.cpu())

    def _link(self, file: str, name: str) -> None:
        try:
            target = self._new(name)
            source = self.directory / self._full.get(file, file)
            try:
                os.link(source, target)
            except OSError as error:
                # File systems without links (FAT, some that are mounted from afar), and files that
                # have as many names as they can.
                shutil.copyfile(source, target)
                self.bytes += target.stat().st_size
                if error.errno == errno.EMLINK:
                    self._full[file] = name
        except OSError as error:
            raise WriteError(error.errno, error.strerror or str(error)) from error

    def _new(self, name: str) -> Path:
        """The path of a new file: an older one of that name may be another value's, too."""
        target = self.directory / name
        if not self.count:
            self.directory.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        self.count += 1
        return target


def file_name(path: str) -> str:
    """The file of a value: its name, where a file can have it; else shortened, with a checksum."""
    name = f"{path}.pt"
    if len(name) <= _LONGEST and name.isascii() and not any(c in name for c in "/\\\0"):
        return name
    encoded = path.encode("utf-8", "replace")
    kept = encoded.decode().translate(_FORBIDDEN)
    if kept == path and len(encoded) <= _LONGEST:
        return name
    short = kept.encode()[: _LONGEST - 12].decode("utf-8", "ignore")
    return f"{short}.{zlib.crc32(encoded):08x}.pt"
