"""Which ranks a difference in a joined value comes from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from builder.dump.joined_tensors import (
    JoinedTensor,
    joined_whole,
    read_joined,
    read_part,
)
from builder.dump.tensor_files import TensorFileError
from builder.ranks.assembly.alignment import parse
from builder.ranks.assembly.logical_run import LogicalRun
from builder.ranks.joining.layouts import AxisLayout
from builder.ranks.joining.parts import REDUCING, fingerprint
from builder.ranks.joining.tolerances import Roundings, which_are_off
from msprobe_core.format import COMMUNICATION


def guilty_ranks(
    problem: LogicalRun,
    benchmark: LogicalRun,
    indices: tuple[int, int],
    axes: Sequence[AxisLayout],
) -> tuple[int, ...]:
    """The ranks whose parts of a cut value are off; none where all are, or where nothing tells.

    From tensors by the places in the whole that each part fills. From statistics a rank is known
    only where it holds what another one holds; `axes` say how the value lies.
    """
    parts = problem.parts[indices[0]]
    if len(parts) < 2:
        return ()
    by_tensor = _by_tensor(problem, benchmark, indices)
    if by_tensor is not None:
        return by_tensor
    if not any(axis.kind == "S" for axis in axes):
        return ()  # replicas hold the same
    seen: dict[object, int] = {}
    repeating = set()
    records = [problem.records[part.record] for part in parts]
    for part, record in zip(parts, records, strict=True):
        key = fingerprint(record) or (record.Max, record.Min)
        if key in seen and part.rank != seen[key]:
            repeating.add(part.rank)
        seen.setdefault(key, part.rank)
    return tuple(sorted(repeating)) if len(repeating) < len(parts) - 1 or len(parts) == 2 else ()


def ranks_that_add_nothing(run: LogicalRun, calls: Iterable[str]) -> tuple[int, ...]:
    """The ranks that give nothing but zeros to a sum over ranks, where others do not."""
    for name in calls:
        entry = parse(name)
        if entry is None or entry.prefix not in COMMUNICATION or entry.type_name not in REDUCING:
            continue
        start, stop = run.dump.ranges.get(name, (0, 0))
        for index in range(start, stop):
            if run.dump.values.keys[index] != "input.0":
                continue
            given = [(part.rank, run.records[part.record]) for part in run.parts[index]]
            empty = {rank for rank, record in given if record.Max == 0 and record.Min == 0}
            if empty and len(empty) < len({rank for rank, _ in given}):
                return tuple(sorted(empty))
    return ()


def _by_tensor(
    problem: LogicalRun, benchmark: LogicalRun, indices: tuple[int, int]
) -> tuple[int, ...] | None:
    parts = problem.parts[indices[0]]
    name = problem.dump.values.records[indices[0]].data_name
    joined = problem.dump.joined.get(name) if name is not None else None
    other = benchmark.dump.values.records[indices[1]].data_name
    if not isinstance(joined, JoinedTensor) or other is None:
        return None
    place = benchmark.dump.tensor_finder()(other)
    try:
        ours = read_joined(joined).astype(np.float64)
        if isinstance(place, JoinedTensor):
            theirs = read_joined(place).astype(np.float64)
        else:
            theirs = read_part(place, ours.shape).astype(np.float64)
    except (TensorFileError, ValueError):
        return None
    if ours.shape != theirs.shape or any(join.kind in "PAD" for join in joined.joins):
        return None
    rounding = Roundings().of("", [problem.records[parts.records[0]].dtype])
    labels = [np.full(shape, number) for number, shape in enumerate(joined.shapes)]
    owner = joined_whole(labels, joined)
    errors = [_error(ours, theirs, owner == number) for number in range(len(labels))]
    off = which_are_off(errors, rounding)
    ranks = {part.rank for part, is_off in zip(parts, off, strict=True) if is_off}
    return tuple(sorted(ranks))


def _error(ours: np.ndarray, theirs: np.ndarray, own: np.ndarray) -> float:
    if not own.any():
        return 0.0
    scale = float(np.linalg.norm(theirs[own])) or 1.0
    return float(np.linalg.norm(ours[own] - theirs[own])) / scale
