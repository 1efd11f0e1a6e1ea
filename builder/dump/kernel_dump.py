"""Reads an iteration of a static graph of MindSpore as a dump: kernels in a tree of scopes.

A kernel is an entry `Primitive.<innermost scope>.<kind>.<call>.forward`, a scope a cell around it.
A tree is walked scope by scope, and the kernels of a scope need not run one behind the other: what
reads values that others made of the scope's stands in a further call of the scope.
"""

from __future__ import annotations

import os
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from builder.dump.kernel_files import (
    KernelFile,
    full_names,
    graphs_of,
    kernel_files,
    source_frames,
)
from builder.dump.values import Ranges, Record, Values, share_texts
from msprobe_core.format.frameworks import MINDSPORE
from msprobe_core.format.regular_file import open_regular, require_regular

_EXPANDED = "Expand"  # the scope of what the compiler has written out, such as x * 0.5
_PARAMETER = "Parameter"  # a weight or input of the graph, written when the iteration has ended
_SCALARS = {"Bool": "bool", "Int64": "int"}
"""What constants of these types are: arguments of a kernel, such as transpose_a."""


@dataclass(slots=True)
class KernelDump:
    """The entries of an iteration; `files` has the path of each tensor by its `data_name`.

    `broken` are the names of files that cannot be read: of them a shape is known at most.
    """

    values: Values = field(default_factory=Values)
    ranges: Ranges = field(default_factory=Ranges)
    parents: dict[str, str | None] = field(default_factory=dict)
    stacks: dict[str, int] = field(default_factory=dict)
    frames: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    framework: str = MINDSPORE.name
    broken: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Kernel:
    """One call of a kernel: its full name, its kind, its place in order, the scopes around it.

    `reads` are the kernels whose values it reads, by their positions.
    """

    name: str
    kind: str
    place: tuple[int, int, int]
    frames: Sequence[str]
    files: list[KernelFile] = field(default_factory=list)
    records: dict[str, Record] = field(default_factory=dict)
    contents: dict[str, int] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    scopes: tuple[str, ...] = ()
    reads: set[int] = field(default_factory=set)


def read_kernels(iteration: Path) -> KernelDump:
    """Read an iteration of all graphs of a net."""
    kernels = [kernel for graph in graphs_of(iteration) for kernel in _kernels_of(graph)]
    kernels.sort(key=lambda kernel: kernel.place)
    for kernel in kernels:
        _measure(kernel)
    _link(kernels)
    writer = _Writer(kernels)
    writer.write(range(len(kernels)), 0, None)
    share_texts(writer.dump.values.records)
    return writer.dump


def _kernels_of(folder: Path) -> list[_Kernel]:
    """The kernels of one graph, each call of one in a loop for itself."""
    graph = folder.parent
    listed = full_names(graph)
    order = {name.replace("/", "_"): (at, name) for at, name in enumerate(listed)}
    frames = source_frames(graph)
    calls: dict[tuple[str, int], _Kernel] = {}
    values: Counter[tuple[str, str, int]] = Counter()
    for file in kernel_files(folder):
        value = (file.kernel, file.role, file.slot)
        at, name = order.get(file.kernel, (len(order), file.kernel))
        number = values[value]
        values[value] += 1
        late = int(file.kind == _PARAMETER)
        place = (int(graph.name) + late * (1 << 30), at + number * len(order), file.time)
        kernel = calls.setdefault(
            (file.kernel, number), _Kernel(name, file.kind, place, frames.get(name, ()))
        )
        kernel.files.append(file)
    return list(calls.values())


def _measure(kernel: _Kernel) -> None:
    """Give a kernel the records of its values; one that was torn off has a shape and no numbers."""
    for file in sorted(kernel.files, key=lambda each: (each.role, each.slot)):
        key = f"{file.role}.{file.slot}"
        try:
            require_regular(file.path)
            array = np.load(file.path, allow_pickle=False)
        except (OSError, ValueError, EOFError, MemoryError):  # a header may claim any shape
            kernel.broken.append(file.path.name)
            shape = _shape_told(file.path)
            if shape is not None:
                known = Record(MINDSPORE.tensor_type, file.dtype, shape, data_name=file.path.name)
                kernel.records[key] = known
            continue
        if array.ndim == 0 and file.dtype in _SCALARS and file.role == "input":
            kernel.records[key] = Record(_SCALARS[file.dtype], value=array.item())
            continue
        kernel.records[key] = _record(array, file)
        if array.size and array.min() != array.max():
            kernel.contents[key] = zlib.crc32(array.tobytes())


def _record(array: NDArray[Any], file: KernelFile) -> Record:
    record = Record(MINDSPORE.tensor_type, file.dtype, tuple(array.shape), data_name=file.path.name)
    if array.dtype.kind not in "biuf" or not array.size:
        return record
    with np.errstate(all="ignore"):
        record.Max, record.Min = float(array.max()), float(array.min())
        if array.dtype.kind == "f":
            wide = array.astype(np.float64)
            record.Mean, record.Norm = float(wide.mean()), float(np.sqrt(np.square(wide).sum()))
    return record


def _shape_told(path: Path) -> tuple[int, ...] | None:
    """The shape that a file's head tells; None where that cannot be read either."""
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            version = npy_format.read_magic(file)
            read = npy_format.read_array_header_1_0
            shape, _, _ = (read if version == (1, 0) else npy_format.read_array_header_2_0)(file)
    except (OSError, ValueError, EOFError):
        return None
    return tuple(shape)


def _link(kernels: Sequence[_Kernel]) -> None:
    """Tell each kernel which ones it reads, by the contents of values, and in which scopes it is.

    Values of equal elements say nothing of where they come from.
    """
    made: dict[int, int] = {}
    for at, kernel in enumerate(kernels):
        kernel.scopes = tuple(kernel.name.split("/")[:-1])
        read = (content for key, content in kernel.contents.items() if key.startswith("input"))
        makers = [made[content] for content in read if content in made]
        kernel.reads = set(makers)
        if kernel.scopes[:1] == (_EXPANDED,) and makers:
            kernel.scopes = kernels[max(makers)].scopes
        put_out = (content for key, content in kernel.contents.items() if key.startswith("output"))
        made |= dict.fromkeys(put_out, at)


class _Writer:
    """Writes kernels as entries, scope by scope; `_calls` counts the calls of each owner."""

    def __init__(self, kernels: Sequence[_Kernel]) -> None:
        self.dump = KernelDump()
        self._kernels = kernels
        self._calls: Counter[str] = Counter()

    def write(self, members: Sequence[int], depth: int, above: str | None) -> None:
        """Write some kernels, all inside the first `depth` of their scopes."""
        for scope, inside in self._calls_of_scopes(members, depth):
            if scope is None:
                self._write_kernel(self._kernels[inside[0]], above)
            else:
                name = self._scope(self._kernels[inside[0]].scopes[: depth + 1])
                self.dump.parents[name] = above
                self.write(inside, depth + 1, name)

    def _calls_of_scopes(
        self, members: Sequence[int], depth: int
    ) -> list[tuple[str | None, list[int]]]:
        """The kernels by the calls of the scopes at a depth; one that is in none stands alone.

        A kernel joins the latest call of its scope unless it reads what was made behind that.
        """
        calls: list[tuple[str | None, list[int]]] = []
        latest: dict[str, int] = {}
        call_of: dict[int, int] = {}
        for at in members:
            kernel = self._kernels[at]
            scope = kernel.scopes[depth] if depth < len(kernel.scopes) else None
            behind = max((call_of.get(maker, -1) for maker in kernel.reads), default=-1)
            call = -1 if scope is None else latest.get(scope, -1)
            if call < 0 or behind > call:
                call = len(calls)
                calls.append((scope, []))
                if scope is not None:
                    latest[scope] = call
            calls[call][1].append(at)
            call_of[at] = call
        return calls

    def _scope(self, scopes: Sequence[str]) -> str:
        """The entry of a call of a scope; one is called `<attribute>-<class>`, or has no class."""
        path = ".".join(scope.partition("-")[0] for scope in scopes)
        return self._numbered(f"Cell.{path}.{scopes[-1].partition('-')[2] or 'Scope'}.forward")

    def _numbered(self, owner: str) -> str:
        number = self._calls[owner]
        self._calls[owner] += 1
        return f"{owner}.{number}"

    def _write_kernel(self, kernel: _Kernel, above: str | None) -> None:
        dump = self.dump
        inner = kernel.scopes[-1].partition("-")[0] if kernel.scopes else kernel.name
        name = f"{self._numbered(f'Primitive.{inner}.{kernel.kind}')}.forward"
        dump.parents[name] = above
        dump.stacks[name] = len(dump.frames)
        dump.frames.append("\n".join([kernel.name, *kernel.frames]))
        begin = len(dump.values.keys)
        dump.values.keys += kernel.records
        dump.values.records += kernel.records.values()
        dump.ranges[name] = (begin, len(dump.values.keys))
        dump.broken += kernel.broken
        dump.files |= {file.path.name: os.fspath(file.path) for file in kernel.files}
