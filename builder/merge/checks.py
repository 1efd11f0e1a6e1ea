"""What the ranks of one run say about each other, without a benchmark.

C1 replicas agree, C3 a collective's result is what its inputs give, C4 equal layers talk over one
axis.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from builder.dump.reader import read_dump
from builder.dump.sources import Source, SourceSet
from builder.dump.values import Record
from builder.errors import InputError
from builder.merge.alignment import parse
from builder.merge.assemble import LogicalRun, assemble, micro_batches_of
from builder.merge.coordinates import RunLayout, Sizes, layout_of
from builder.merge.layouts import AXIS_NAMES, AxisLayout
from builder.merge.names import role_of
from builder.merge.parts import Floats, RunValues, indices
from builder.merge.statistics import disagreement

Check = Literal["replica", "collective", "group"]
_SAME = 1e-6
_SUM = 1e-4  # of the root mean square: means of partial sums are kept in single precision
_WHOLE = re.compile(r"norm", re.IGNORECASE)  # layers that no layout cuts
_REDUCING = ("all_reduce",)


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """A place where the ranks of a step do not fit together; `ranks` are those that are off."""

    check: Check
    step: int
    node: str
    axis: str
    ranks: tuple[int, ...]
    coordinates: str
    text: str


def check_dump(found: SourceSet, sizes: Sizes) -> list[CheckFinding]:
    """The findings of every step, in order.

    Raises InputError when there are no ranks to hold against each other, DumpError for a rank that
    cannot be read.
    """
    if found.granularity == "rank" or len({source.rank for source in found.sources}) < 2:
        raise InputError(
            f"{found.path}: a single rank has no other to be checked against",
            "give a dump or a step of several ranks",
        )
    listed: list[CheckFinding] = []
    for step in sorted({source.step for source in found.sources}):
        ranks = [s for s in found.sources if s.step == step and s.rank >= 0]
        listed += check_step(step, _logical_run(found.path, ranks, sizes))
    return listed


def check_step(step: int, run: LogicalRun) -> list[CheckFinding]:
    """The findings of one step: collectives first, since replicas differ behind them."""
    values = RunValues(run)
    findings = [*_collectives(step, values), *check_groups(step, values), *_replicas(step, values)]
    order = {name: number for number, name in enumerate(run.dump.ranges)}
    return sorted(findings, key=lambda finding: order[finding.node])


def _logical_run(folder: Path, ranks: Sequence[Source], sizes: Sizes) -> LogicalRun:
    dumps = {source.rank: read_dump(source.path) for source in ranks}
    layout = layout_of(dumps, sizes, folder)
    return assemble(dumps, layout, micro_batches_of(dumps, layout), join=True)


# --- replicas -----------------------------------------------------------------------------------


def _replicas(step: int, values: RunValues) -> Iterator[CheckFinding]:
    roles: dict[tuple[str, str, tuple[int, ...]], list[int]] = {}
    for index in range(len(values.keys)):
        if _is_parameter(values, index):
            grid = values.grid(index)
            if grid is not None and len(grid.shapes) > 1:
                name = role_of(f"{values.owner[index]}.")
                roles.setdefault((name, values.keys[index], grid.sizes), []).append(index)
    known: dict[tuple[str, int], bool] = {}
    for role, rows in roles.items():
        yield from _role_conflicts(step, values, role, rows, known)


def _is_parameter(values: RunValues, index: int) -> bool:
    owner = values.owner[index]
    return values.keys[index].startswith("parameters.") or owner.startswith("Optimizer.")


def _role_conflicts(
    step: int,
    values: RunValues,
    role: tuple[str, str, tuple[int, ...]],
    rows: Sequence[int],
    known: dict[tuple[str, int], bool],
) -> Iterator[CheckFinding]:
    name, key, sizes = role
    table = values.table[:, indices([values.run.parts[row] for row in rows])]
    axes = tuple(AxisLayout(a, s, "R") for a, s in zip(AXIS_NAMES, sizes, strict=True) if s > 1)
    placements = dict(values.grid(rows[0]).placements)  # type: ignore[union-attr]
    for place, axis in enumerate(axes):
        apart = disagreement(table, axes, place)
        agreeing = float((apart <= _SAME).mean()) >= 0.5
        whole = _is_whole(axis.axis, name, placements, values.run.layout)
        if key == "input.gradient":
            # A gradient lies as its parameter does, which most of the role's values tell.
            agreeing = known.get((name, place), _parameter_agrees(values, rows, axes, place))
        if whole is False or not (agreeing or whole):
            continue
        known[name, place] = True
        for at in np.flatnonzero(apart > _SAME).tolist():
            ranks = _outliers(values, rows[at], table[:, at], axes, place)
            where = values.run.layout.describe_all(ranks)
            text = (
                f"{key} should be the same on all {axis.axis} ranks and differs by "
                f"{apart[at]:.3g}: rank {', '.join(map(str, ranks))} ({where})"
            )
            owner = values.owner[rows[at]]
            yield CheckFinding("replica", step, owner, axis.axis, ranks, where, text)


def _is_whole(axis: str, role: str, placements: dict[str, str], layout: RunLayout) -> bool | None:
    """Whether parameters of a role are repeated along an axis; None where only values tell."""
    if axis in placements:
        return placements[axis] == "R"
    if axis in ("dp", "cp"):
        return True if layout.size("ep") == 1 else None
    return True if _WHOLE.search(role) else None


def _parameter_agrees(
    values: RunValues, rows: Sequence[int], axes: tuple[AxisLayout, ...], place: int
) -> bool:
    """Whether most of the parameters beside some gradients agree along an axis."""
    beside = []
    for row in rows:
        start, stop = values.run.dump.ranges[values.owner[row]]
        beside += [i for i in range(start, stop) if values.keys[i] == "parameters.value"]
    parts = [values.run.parts[i] for i in beside]
    if not parts or any(len(p) != len(parts[0]) for p in parts):
        return False
    for index in beside:
        values.grid(index)  # brings the parts into order
    apart = disagreement(values.table[:, indices(parts)], axes, place)
    return float((apart <= _SAME).mean()) >= 0.5


def _outliers(
    values: RunValues, index: int, table: Floats, axes: tuple[AxisLayout, ...], place: int
) -> tuple[int, ...]:
    """The minority of the ranks along an axis; all of them where none is one."""
    parts = values.run.parts[index]
    name = axes[place].axis
    at = AXIS_NAMES.index(name)
    prints = {part.rank: tuple(table[:, n].tolist()) for n, part in enumerate(parts)}
    groups: dict[tuple[int, ...], list[int]] = {}
    for part in parts:
        others = tuple(c for n, c in enumerate(part.at) if n != at)
        groups.setdefault(others, []).append(part.rank)
    guilty: set[int] = set()
    for ranks in groups.values():
        counts = Counter(prints[rank] for rank in ranks)
        most = max(counts.values())
        if len(counts) > 1:
            usual = most > len(ranks) / 2
            guilty |= {rank for rank in ranks if not usual or counts[prints[rank]] < most}
    return tuple(sorted(guilty))


# --- collectives --------------------------------------------------------------------------------


def _collectives(step: int, values: RunValues) -> Iterator[CheckFinding]:
    for name, (start, stop) in values.run.dump.ranges.items():
        entry = parse(name)
        if entry is None or entry.prefix != "Distributed" or entry.type_name not in _REDUCING:
            continue
        by_key = {values.keys[index]: index for index in range(start, stop)}
        given, made = by_key.get("input.0"), by_key.get("output.0")
        if given is None or made is None or _is_no_sum(values, by_key):
            continue
        inputs, outputs = _by_rank(values, given), _by_rank(values, made)
        for group in _groups_of(values, by_key, inputs):
            text = _wrong_sum(inputs, outputs, group)
            if text is not None:
                where = values.run.layout.describe_all(group)
                axis = axis_of(values.run.layout, group) or "?"
                yield CheckFinding("collective", step, name, axis, group, where, text)


def _by_rank(values: RunValues, index: int) -> dict[int, Record]:
    return {part.rank: values.run.records[part.record] for part in values.run.parts[index]}


def _is_no_sum(values: RunValues, by_key: dict[str, int]) -> bool:
    operation = by_key.get("input.op", by_key.get("input.1"))
    if operation is None:
        return False
    said = str(values.records(operation)[0].value)
    return "SUM" not in said.upper() and "OP" in said.upper()


def _groups_of(
    values: RunValues, by_key: dict[str, int], inputs: dict[int, Record]
) -> Iterable[tuple[int, ...]]:
    group = next((i for key, i in by_key.items() if key == "input.group"), None)
    if group is None:
        return [tuple(sorted(inputs))]
    found = {
        tuple(record.group_ranks or ())
        for record in _by_rank(values, group).values()
        if record.group_ranks
    }
    return sorted(ranks for ranks in found if all(rank in inputs for rank in ranks))


def _wrong_sum(
    inputs: dict[int, Record], outputs: dict[int, Record], group: tuple[int, ...]
) -> str | None:
    means = [_float(inputs[rank].Mean) for rank in group]
    norms = [_float(inputs[rank].Norm) for rank in group]
    for rank in group:
        made = outputs.get(rank)
        if made is None:
            continue
        mean, norm = _float(made.Mean), _float(made.Norm)
        size = float(np.prod(made.shape or (1,)))
        scale = max(norm, sum(norms) / len(norms)) / max(1.0, size) ** 0.5
        if np.isnan([mean, norm, *means, *norms]).any():
            continue
        if abs(mean - sum(means)) > _SUM * scale or norm > sum(norms) * (1 + 1e-5) + 1e-12:
            return (
                f"its result on rank {rank} is not the sum of what ranks "
                f"{', '.join(map(str, group))} gave: mean {mean:.6g} instead of {sum(means):.6g}"
            )
    return None


def _float(cell: float | bool | str | None) -> float:
    try:
        return float(cell) if cell is not None else np.nan
    except ValueError:
        return np.nan


# --- groups -------------------------------------------------------------------------------------


def check_groups(step: int, values: RunValues) -> Iterator[CheckFinding]:
    """Collectives whose axis is not that of the same call in the other layers."""
    run = values.run
    roles: dict[str, list[tuple[str, str, tuple[int, ...]]]] = {}
    for name, (start, stop) in run.dump.ranges.items():
        entry, parent = parse(name), run.dump.parents.get(name)
        if entry is None or entry.prefix != "Distributed" or parent is None:
            continue
        ranks = next(
            (
                tuple(r.group_ranks)
                for i in range(start, stop)
                for r in values.records(i)[:1]
                if r.group_ranks
            ),
            (),
        )
        axis = axis_of(run.layout, ranks)
        if axis is not None:
            roles.setdefault(f"{role_of(parent)}/{entry.type_name}", []).append((name, axis, ranks))
    for calls in roles.values():
        counts = Counter(axis for _, axis, _ in calls)
        usual, most = counts.most_common(1)[0]
        if most * 2 <= len(calls):
            continue
        for name, axis, ranks in calls:
            if axis != usual:
                where = run.layout.describe_all(ranks)
                text = f"talks over {axis} where its {most} peers use {usual}"
                yield CheckFinding("group", step, name, axis, ranks, where, text)


def axis_of(layout: RunLayout, ranks: Sequence[int]) -> str | None:
    """The axis along which some ranks lie; None where it is none alone."""
    places = [layout.places[rank].at for rank in ranks if rank in layout.places]
    if len(places) < 2:
        return None
    varying = [axis for axis in layout.sizes if len({at.get(axis, 0) for at in places}) > 1]
    return varying[0] if len(varying) == 1 else None
