"""Distributed checkpoints of torch (`.metadata` and `*.distcp`): FSDP, FSDP2, tensor parallel.

Values come through torch's own reader, one parameter at a time and without a process group. Its
index is a pickle: it is read here by an unpickler that knows only the classes an index consists of.
"""

from __future__ import annotations

import io
import pickle
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint.filesystem import FileSystemReader
from torch.distributed.checkpoint.metadata import Metadata, StorageMeta, TensorStorageMetadata
from torch.distributed.checkpoint.state_dict_loader import load

from msprobe.checkpoints.names import without_shared_root
from msprobe.checkpoints.parameter import Checkpoint, Parameter
from msprobe.errors import CheckError

INDEX = ".metadata"
_NOT_WEIGHTS = ("optim", "rng", "scheduler", "lr_sched", "scaler", "dataloader", "args")
_ALLOWED_MODULES = (  # data classes only
    "torch.distributed.checkpoint.metadata",
    "torch.distributed._shard.metadata",
    "torch.distributed._shard.sharded_tensor.metadata",
)
_ALLOWED = {
    ("torch.distributed.checkpoint.filesystem", "_StorageInfo"),
    ("torch.distributed.checkpoint.filesystem", "_StoragePrefix"),
    ("builtins", "set"),
    ("builtins", "frozenset"),
    ("builtins", "complex"),
    ("collections", "OrderedDict"),
    ("pathlib", "Path"),
    ("pathlib", "PosixPath"),
    ("pathlib", "PurePosixPath"),
    ("torch", "Size"),
    ("torch", "device"),
    ("torch.serialization", "_get_layout"),
}


def open_distributed(path: Path) -> Checkpoint:
    """The model's tensors; raises CheckError for an unreadable index or a missing data file."""
    reader = _Reader(path)
    index = reader.read_metadata()
    _check_files(path, index)
    found = {
        name: Parameter(
            name, tuple(entry.size), entry.properties.dtype, partial(_read, reader, name, entry)
        )
        for name, entry in index.state_dict_metadata.items()
        if isinstance(entry, TensorStorageMetadata) and not _belongs_to_training(name)
    }
    if not found:
        raise CheckError(f"{path}: holds no tensor of a model", "give the folder with the weights")
    short = without_shared_root(found)
    return Checkpoint(path, "dcp", {short[name]: p for name, p in found.items()})


def _belongs_to_training(name: str) -> bool:
    parts = name.lower().split(".")
    return any(part.startswith(_NOT_WEIGHTS) for part in parts[:2])


def _check_files(path: Path, index: Metadata) -> None:
    named = {info.relative_path for info in (index.storage_data or {}).values()}
    missing = sorted(name for name in named if not (path / name).is_file())
    if missing:
        raise CheckError(
            f"{path / missing[0]}: named by {INDEX} and missing", "copy the files of all ranks"
        )


def _read(reader: _Reader, name: str, entry: TensorStorageMetadata) -> torch.Tensor:
    target = torch.empty(entry.size, dtype=entry.properties.dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that there is no process group; so it is meant
        load({name: target}, storage_reader=reader, no_dist=True)
    return target


class _Reader(FileSystemReader):
    """Reads the index once, and without running what it names."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._index: Metadata | None = None
        self._folder = path

    def read_metadata(self, *_: object, **__: object) -> Metadata:
        if self._index is None:
            self._index = _read_index(self._folder / INDEX)
        if getattr(self._index, "storage_meta", None) is None:
            self._index.storage_meta = StorageMeta()
        return self._index


def _read_index(file: Path) -> Metadata:
    try:
        index = _IndexUnpickler(io.BytesIO(file.read_bytes())).load()
    except (pickle.UnpicklingError, EOFError, AttributeError, ValueError, ImportError) as error:
        raise CheckError(
            f"{file}: is no index of a checkpoint ({error})", "copy it again"
        ) from error
    if not isinstance(index, Metadata):
        raise CheckError(f"{file}: is no index of a checkpoint", "give the folder that was saved")
    return index


class _IndexUnpickler(pickle.Unpickler):
    """Knows the classes of an index and no other."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - a class or a function
        listed = (module, name) in _ALLOWED
        constant = module == "torch" and isinstance(getattr(torch, name, None), torch.dtype)
        if listed or constant:
            return super().find_class(module, name)
        if module in _ALLOWED_MODULES and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise pickle.UnpicklingError(f"it names {module}.{name}, which no index needs")
