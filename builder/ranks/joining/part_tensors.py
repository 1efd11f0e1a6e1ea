"""The tensors of a value's parts as one that is joined when it is opened, and how they may lie."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from builder.dump.joined_tensors import Join, JoinedTensor, Variant, read_part
from builder.dump.tensor_files import TensorFileError
from builder.ranks.assembly.logical_run import LogicalRun
from builder.ranks.joining.layouts import AxisLayout, Candidate
from msprobe_core.format import TENSOR_DIR

# Gate and value; query, key and value, of which heads may share the latter two.
_FUSED = ((1, 1), (1, 1, 1), *((heads, 1, 1) for heads in range(2, 9)))


def ways_of(
    axis: AxisLayout, cp_order: str | None, rows: tuple[int, ...], extents: Iterable[int]
) -> tuple[Variant, ...]:
    """The orders in which the parts of an axis may lie behind each other, usual ones first.

    `extents` are those of the parts in the dimension that is cut: fused pieces divide them.
    """
    plain = [Variant()]
    if axis.axis == "cp":
        plain = [Variant(), Variant(zigzag=True)]
        if cp_order in ("contiguous", "zigzag"):
            plain = [Variant(zigzag=cp_order == "zigzag")]
    fused = []
    if axis.axis == "tp":
        known = set(extents)
        divide = [pieces for pieces in _FUSED if not any(e % sum(pieces) for e in known)]
        fused = [Variant(pieces=pieces) for pieces in divide]
    flattened = [replace(way, rows=count) for count in rows for way in plain]
    return (*plain, *fused, *flattened)


def joined_tensor(
    run: LogicalRun,
    index: int,
    candidate: Candidate,
    variants: Iterable[Variant],
    chosen: tuple[int, int] | None,
    factor: float,
) -> JoinedTensor | None:
    """The joined tensor behind a value; None where a part has no file.

    `chosen` is an axis and the part along it that stands for all, `factor` divides the whole.
    """
    found = _files_of(run, index)
    if found is None:
        return None
    joins = [
        Join(axis.kind, axis.size, axis.dim, variant)
        for axis, variant in zip(candidate.axes, variants)
    ]
    if chosen is not None:
        axis, part_number = chosen
        joins[axis] = Join("R", candidate.axes[axis].size, part_number)
    return JoinedTensor(*found, tuple(joins), factor)


def repeats_itself(run: LogicalRun, index: int, candidate: Candidate) -> bool:
    """Whether the parts of a value along the axes that repeat it have the same elements.

    What cannot be read contradicts nothing.
    """
    found = _files_of(run, index)
    if found is None or not any(axis.kind == "R" for axis in candidate.axes):
        return True
    try:
        parts = [read_part(file, shape) for file, shape in zip(*found)]
    except TensorFileError:
        return True
    inner = 1
    for axis in candidate.axes:
        if axis.kind == "R":
            own = [part - part // inner % axis.size * inner for part in range(len(parts))]
            if not all(np.array_equal(part, parts[at]) for part, at in zip(parts, own)):
                return False
        inner *= axis.size
    return True


def _files_of(
    run: LogicalRun, index: int
) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]] | None:
    """The files of a value's parts and their shapes; None where one has none."""
    files, shapes = [], []
    for part in run.parts[index]:
        record = run.records[part.record]
        if record.data_name is None or record.shape is None:
            return None
        files.append(os.fspath(run.folders[part.rank] / TENSOR_DIR / record.data_name))
        shapes.append(record.shape)
    return tuple(files), tuple(shapes)
