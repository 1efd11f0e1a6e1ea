"""Which tensor files of a dump may be read on behalf of a database.

A database is data from anywhere and names its dump's folder itself; what it names is read only if
it is a dump, and only below that dump's folder of tensors.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import msgspec

from builder.results.manual.measured_pair import StoredNode
from msprobe_core.format import TENSOR_DIR, values_file

_SUFFIXES = (".pt", ".npy")


def tensor_file(folder: Path, name: str) -> Path | None:
    """The real path of a dumped tensor; None when it is missing or not a dump's own file."""
    if not name.endswith(_SUFFIXES) or "\0" in name or not values_file(folder).is_file():
        return None
    tensors = os.path.realpath(folder / TENSOR_DIR)
    path = Path(os.path.realpath(folder / TENSOR_DIR / name))
    return path if path.is_relative_to(tensors) and path.is_file() else None


def without_unsafe_files(node: StoredNode) -> StoredNode:
    """The node without the names of files that may not be read."""
    values = [
        value
        if value.record.data_name is None or tensor_file(node.folder, value.record.data_name)
        else replace(value, record=msgspec.structs.replace(value.record, data_name=None))
        for value in node.values
    ]
    return replace(node, values=values)
