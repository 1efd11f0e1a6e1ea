"""Distributed checkpoints of torch (`.metadata` and `*.distcp`): FSDP, FSDP2, tensor parallel.

Values come through torch's own reader, one parameter at a time and without a process group. Its
index is a pickle: it is read here by an unpickler that knows only the classes an index consists of.
"""

from __future__ import annotations

import io
import pickle
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner
from torch.distributed.checkpoint.filesystem import FileSystemReader
from torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorStorageMetadata,
)
from torch.distributed.checkpoint.planner import LoadPlan, LoadPlanner
from torch.distributed.checkpoint.planner_helpers import create_read_items_for_chunk_list
from torch.distributed.checkpoint.state_dict_loader import load

from msprobe.checkpoints.bookkeeping import is_named_so
from msprobe.checkpoints.names import without_shared_root
from msprobe.checkpoints.parameter import Checkpoint, Parameter
from msprobe.checkpoints.renamed_model import renamed_models
from msprobe.checkpoints.stacked_layers import (
    ARGUMENTS,
    Stored,
    arguments_of,
    is_stacked,
    unstacked,
)
from msprobe.errors import CheckError

INDEX = ".metadata"
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
    parameters = {
        name: Parameter(
            name, tuple(entry.size), entry.properties.dtype, partial(_read, reader, name, entry)
        )
        for name, entry in index.state_dict_metadata.items()
        if isinstance(entry, TensorStorageMetadata) and not _belongs_to_training(name)
    }
    tensors = index.state_dict_metadata.items()
    left_out = [
        n for n, e in tensors if isinstance(e, TensorStorageMetadata) and n not in parameters
    ]
    if not parameters:
        raise CheckError(f"{path}: holds no tensor of a model", "give the folder with the weights")
    short = without_shared_root(parameters)
    named = {short[name]: parameter for name, parameter in parameters.items()}
    if (path / ARGUMENTS).is_file() or is_stacked(named):
        stored = [_stored(reader, index, short[name], name) for name in parameters]
        return replace(_megatron(path, stored), left_out=left_out)
    return Checkpoint(path, "dcp", named, left_out=left_out)


def _megatron(path: Path, tensors: list[Stored]) -> Checkpoint:
    """Megatron's `torch_dist` format: layers apart, and under the names of other libraries."""
    parameters = {p.name: p for stored in tensors for p in unstacked(stored)}
    arguments = arguments_of(path)
    gated = bool(arguments.get("swiglu") or arguments.get("gated_linear_unit"))
    renamed = renamed_models(parameters, arguments, gated=gated)
    notes = []
    if not renamed:
        notes.append(
            f"{ARGUMENTS} with the arguments of the run is missing: how many heads there are is "
            "not known, and names of other libraries are not tried"
        )
    return Checkpoint(path, "torch_dist", parameters, renamed, notes)


def _belongs_to_training(name: str) -> bool:
    return any(map(is_named_so, name.split(".")[:2]))


def _check_files(path: Path, index: Metadata) -> None:
    named = {info.relative_path for info in (index.storage_data or {}).values()}
    missing = sorted(name for name in named if not (path / name).is_file())
    if missing:
        raise CheckError(
            f"{path / missing[0]}: named by {INDEX} and missing", "copy the files of all ranks"
        )


def _stored(reader: _Reader, index: Metadata, name: str, key: str) -> Stored:
    entry = index.state_dict_metadata[key]
    assert isinstance(entry, TensorStorageMetadata)
    read = partial(_read_slice, reader, key, entry)
    return Stored(name, tuple(entry.size), entry.properties.dtype, read)


def _read_slice(
    reader: _Reader, name: str, entry: TensorStorageMetadata, place: tuple[int, ...]
) -> torch.Tensor:
    """One layer of a tensor that holds all of them; what lies around it is not read."""
    shape = entry.size[len(place) :]
    if not place:
        return _read(reader, name, entry)
    target = torch.empty((*(1 for _ in place), *shape), dtype=entry.properties.dtype)
    offsets = torch.Size((*place, *(0 for _ in shape)))
    _load(reader, {name: target}, _SlicePlanner(name, target, offsets))
    return target.reshape(shape)


class _SlicePlanner(DefaultLoadPlanner):
    """Plans to read a block of one tensor into a target of the block's size."""

    def __init__(self, name: str, target: torch.Tensor, offsets: torch.Size) -> None:
        super().__init__()
        self._block = name, target, offsets

    def create_local_plan(self) -> LoadPlan:
        name, target, offsets = self._block
        assert self.metadata is not None
        stored = self.metadata.state_dict_metadata[name]
        assert isinstance(stored, TensorStorageMetadata)
        chunk = ChunkStorageMetadata(offsets, target.shape)
        return LoadPlan(create_read_items_for_chunk_list(name, stored, [chunk]))

    def lookup_tensor(self, index: MetadataIndex) -> torch.Tensor:
        return self._block[1]


def _read(reader: _Reader, name: str, entry: TensorStorageMetadata) -> torch.Tensor:
    target = torch.empty(entry.size, dtype=entry.properties.dtype)
    _load(reader, {name: target}, None)
    return target


def _load(reader: _Reader, targets: dict[str, torch.Tensor], planner: LoadPlanner | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that there is no process group; so it is meant
        load(targets, storage_reader=reader, planner=planner, no_dist=True)


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
            target = super().find_class(module, name)
            if isinstance(target, type) and target.__module__ == module:
                return target
        raise pickle.UnpicklingError(f"it names {module}.{name}, which no index needs")
