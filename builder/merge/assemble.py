"""Puts the entries of all ranks of one step into one dump whose values still lie in parts.

The dump has the logical model's names, places and order; what its values are is decided later,
when the other side is known.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from builder.dump.reader import Dump
from builder.dump.values import Record, Values
from builder.merge.alignment import OPTIMIZER, Call, calls_of, parse
from builder.merge.batches import Share
from builder.merge.coordinates import Place, RunLayout
from builder.merge.names import LogicalNames, Ties, first_experts, is_expert, renumbered_layers
from msprobe_core.format import TENSOR_DIR

_ROLES = (
    ("input", "input.gradient"),
    ("parameters", "parameters.value"),
    ("output", "output.value"),
)
# Where a part of a value stands: tp, cp, dp, micro-batch and (of tied weights) pp, innermost first.
Coordinates = tuple[int, int, int, int, int]


@dataclass(slots=True)
class Part:
    """One rank's share of a logical value: where it stands and which of the run's records it is."""

    at: Coordinates
    rank: int
    record: int


@dataclass(slots=True)
class LogicalRun:
    """One step of one side as one dump; `parts` of each of its values, `records` of all ranks.

    `origin` has the names that an entry has on the ranks, `folders` the folder of each rank,
    `blank` the arguments of an entry that the dump leaves empty, such as operations of collectives.
    `cut` has the dimension along which tp cuts a parameter, None for what it repeats, by name.
    """

    dump: Dump
    layout: RunLayout
    parts: list[list[Part]]
    records: list[Record]
    origin: dict[str, dict[int, str]]
    folders: dict[int, Path]
    joins_micro_batches: bool
    blank: dict[str, frozenset[str]] = field(default_factory=dict)
    cut: dict[str, int | None] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether there is nothing to join."""
        return len(self.layout.places) == 1 and not self.joins_micro_batches


@dataclass(slots=True)
class _Group:
    """The same call on several ranks (and micro-batches, where they are joined)."""

    first: Call
    micro: int
    stage: int
    calls: list[tuple[Coordinates, int, Call]] = field(default_factory=list)
    name: str = ""


def micro_batches_of(dumps: Mapping[int, Dump], layout: RunLayout) -> int:
    """How many micro-batches one rank runs in a step: recorded, or how often modules are called."""
    if layout.micro_batches:
        return layout.micro_batches
    numbers = [n for dump in dumps.values() for n in dump.micro_batch.values() if n is not None]
    if numbers:
        return 1 + max(numbers)
    counts: dict[int, int] = {}
    for dump in dumps.values():
        calls: dict[str, int] = {}
        for name in dump.parents or dump.ranges:
            entry = parse(name)
            if entry is not None and entry.kind == "module" and entry.direction == "forward":
                calls[entry.owner] = calls.get(entry.owner, 0) + 1
        for count in calls.values():
            counts[count] = counts.get(count, 0) + 1
    return max(counts, key=lambda count: (counts[count], -count), default=1)


def assemble(
    dumps: Mapping[int, Dump],
    layout: RunLayout,
    micro_batches: int,
    join: bool,
    moved: Mapping[Share, Share] | None = None,
    ties: Ties | None = None,
) -> LogicalRun:
    """Bring the ranks' entries together; with `join` a step's micro-batches become one.

    `moved` are shares of the batch that stand elsewhere than their rank and number say, `ties` the
    names of parameters that are one.
    """
    logical = names_of_ranks(dumps, layout, ties)
    groups = _grouped(dumps, layout, logical, micro_batches, join, moved or {})
    ordered = sorted(groups.values(), key=_logical_order)
    _give_names(ordered)
    first = dumps[min(dumps)]
    run = LogicalRun(
        dump=replace(
            first,
            path=first.path,
            values=Values(),
            ranges={},
            parents={},
            micro_steps={},
            stacks={},
            frames=[],
            joined={},
            sketch_version=_common_version(dumps),
        ),
        layout=layout,
        parts=[],
        records=[],
        origin={},
        folders={rank: dump.path for rank, dump in dumps.items()},
        joins_micro_batches=join,
    )
    starts = _gather_records(run, dumps)
    names = {(rank, call.name): g.name for g in ordered for _, rank, call in g.calls}
    for group in ordered:
        _add_entry(run, group, dumps, starts, names)
    _add_optimizer(run, dumps, layout, logical)
    for rank, dump in dumps.items():
        for name, told in (dump.parallel.layouts if dump.parallel is not None else {}).items():
            run.cut[logical[rank].parameter(name)] = told.dim if told.tp else None
    return run


def _grouped(
    dumps: Mapping[int, Dump],
    layout: RunLayout,
    names: Mapping[int, LogicalNames],
    micro_batches: int,
    join: bool,
    moved: Mapping[Share, Share],
) -> dict[Hashable, _Group]:
    groups: dict[Hashable, _Group] = {}
    for rank in sorted(dumps):
        place = layout.places[rank]
        stage, replicas = place.at.get("pp", 0), layout.size("dp")
        for call in calls_of(dumps[rank], names[rank], stage, micro_batches):
            tp, cp, dp = _coordinates(place, f"{call.parent} {call.owner}")
            own = call.phase < 2 and not _is_gradient(call)
            share = dp, call.micro
            if own and share in moved and not is_expert(f"{call.parent} {call.owner}"):
                share = moved[share]
            copy = stage if names[rank].is_tied(call.parameter) else 0
            if join or not own:
                micro, coordinates = 0, (tp, cp, share[0], share[1] if own else 0, copy)
            else:
                micro, coordinates = share[1] * replicas + share[0], (tp, cp, 0, 0, copy)
            key = (call.key, micro)
            group = groups.get(key)
            if group is None:
                group = groups[key] = _Group(call, micro, stage)
            group.calls.append((coordinates, rank, call))
    return groups


def _coordinates(place: Place, name: str) -> tuple[int, int, int]:
    at = place.at if place.expert_at is None else place.of(is_expert(name))
    return at.get("tp", 0), at.get("cp", 0), at.get("dp", 0)


def names_of_ranks(
    dumps: Mapping[int, Dump], layout: RunLayout, ties: Ties | None = None
) -> dict[int, LogicalNames]:
    """How each rank's names become those of the whole model."""
    paths = {
        rank: [e.path for name in (dump.parents or dump.ranges) if (e := parse(name)) and e.path]
        for rank, dump in dumps.items()
    }
    numbers, experts = renumbered_layers(layout, paths), first_experts(layout, paths)
    return {
        rank: LogicalNames(layout.places[rank], layout, numbers[rank], experts[rank], ties)
        for rank in dumps
    }


def _is_gradient(call: Call) -> bool:
    return call.entry is not None and call.entry.kind == "parameters_grad"


def _logical_order(group: _Group) -> tuple[object, ...]:
    call = group.first
    stage = -group.stage if call.phase == 1 else group.stage
    place = (call.phase == 2, group.micro, call.phase)
    if call.parameter is not None:
        # Behind everything else, in an order of names that no layout changes.
        return (*place, 1, natural(call.parameter), call.order)
    return (*place, 0, [], stage, call.order)


def natural(name: str) -> list[tuple[int, str]]:
    """A key that sorts names with numbers in them as people do."""
    return [(int(s), "") if s.isdigit() else (-1, s) for s in name.split(".")]


def _give_names(ordered: Iterable[_Group]) -> None:
    counts: dict[str, int] = {}
    numbers: dict[Hashable, int] = {}
    for group in ordered:
        call = group.first
        if call.entry is None:
            group.name = call.owner
            continue
        if _is_gradient(call):
            group.name = f"{call.owner}.parameters_grad.0"
            continue
        forward = _forward_key(call, group.micro)
        number = numbers.get(forward)
        if number is None:
            number = numbers[forward] = counts.get(call.owner, 0)
            counts[call.owner] = number + 1
        direction = call.entry.direction
        if call.entry.kind == "module":
            group.name = f"{call.owner}.{direction}.{number}"
        else:
            group.name = f"{call.owner}.{number}.{direction}"


def _forward_key(call: Call, micro: int) -> Hashable:
    assert call.entry is not None
    if call.entry.kind == "module":
        assert isinstance(call.key, tuple)
        return (call.owner, call.key[2], micro)
    if isinstance(call.key, tuple) and len(call.key) == 2 and call.key[1] == "backward":
        return (call.key[0], micro)
    return (call.key, micro)


def _gather_records(run: LogicalRun, dumps: Mapping[int, Dump]) -> dict[int, int]:
    starts = {}
    for rank in sorted(dumps):
        starts[rank] = len(run.records)
        run.records += dumps[rank].values.records
    return starts


def _add_entry(
    run: LogicalRun,
    group: _Group,
    dumps: Mapping[int, Dump],
    starts: Mapping[int, int],
    names: Mapping[tuple[int, str], str],
) -> None:
    first = group.calls[0]
    rank, call, dump = first[1], first[2], run.dump
    own = dumps[rank]
    if call.name in own.parents:
        parent = call.parent
        dump.parents[group.name] = None if parent is None else names.get((rank, parent), parent)
        dump.micro_steps[group.name] = group.micro
    frames = own.stacks.get(call.name)
    if frames is not None:
        dump.stacks[group.name] = len(dump.frames)
        dump.frames.append(own.frames[frames])
    run.origin[group.name] = {rank: call.name for _, rank, call in group.calls}
    absent = own.values.absent.get(call.name)
    if absent:
        run.blank[group.name] = frozenset(key for _, key in absent)
    start = len(dump.values.keys)
    _add_values(run, group, dumps, starts)
    if len(dump.values.keys) > start or call.name in own.ranges:
        dump.ranges[group.name] = (start, len(dump.values.keys))


def _add_values(
    run: LogicalRun, group: _Group, dumps: Mapping[int, Dump], starts: Mapping[int, int]
) -> None:
    if len(group.calls) == 1:
        _add_whole(run, group.calls[0], dumps, starts)
        return
    by_key: dict[str, list[Part]] = {}
    stages = {run.layout.places[rank].at.get("pp", 0) for _, rank, _ in group.calls}
    for coordinates, rank, call in group.calls:
        a, b = dumps[rank].ranges.get(call.name, (0, 0))
        keys, base = dumps[rank].values.keys, starts[rank]
        stage = run.layout.places[rank].at.get("pp", 0)
        for index in range(a, b):
            key = keys[index]
            # A container on several stages has the first's inputs and the last's outputs.
            if len(stages) > 1 and stage != _stage_of(key, call, stages):
                continue
            by_key.setdefault(key, []).append(Part(coordinates, rank, base + index))
    for key, parts in by_key.items():
        run.dump.values.keys.append(key)
        run.dump.values.records.append(_placeholder(run, parts[0]))
        run.parts.append(parts)


def _add_whole(
    run: LogicalRun,
    only: tuple[Coordinates, int, Call],
    dumps: Mapping[int, Dump],
    starts: Mapping[int, int],
) -> None:
    """The values of an entry that one rank alone has; of equal keys the first holds them all."""
    coordinates, rank, call = only
    a, b = dumps[rank].ranges.get(call.name, (0, 0))
    base = starts[rank]
    places: dict[str, list[Part]] = {}
    for index, key in enumerate(dumps[rank].values.keys[a:b], base + a):
        known = places.get(key)
        if known is None:
            places[key] = known = []
        known.append(Part(coordinates, rank, index))
    run.dump.values.keys += places
    run.dump.values.records += [_placeholder(run, parts[0]) for parts in places.values()]
    run.parts += places.values()


def _placeholder(run: LogicalRun, part: Part) -> Record:
    """The record of one part; its tensor lies in the folder of its own rank."""
    record, folder = run.records[part.record], run.folders[part.rank]
    if record.source is not None:
        record = msgspec.structs.replace(record, source=None)  # entries have other names there
    if record.data_name is None or folder == run.dump.path:
        return record
    name = f"rank{part.rank}/{record.data_name}"
    run.dump.joined[name] = os.fspath(folder / TENSOR_DIR / record.data_name)
    return msgspec.structs.replace(record, data_name=name)


def _common_version(dumps: Mapping[int, Dump]) -> int | None:
    versions = {dump.sketch_version for dump in dumps.values()}
    return versions.pop() if len(versions) == 1 else None


def _stage_of(key: str, call: Call, stages: Iterable[int]) -> int:
    enters = key.startswith(("input", "parameters")) == (call.phase == 0)
    return min(stages) if enters else max(stages)


def _add_optimizer(
    run: LogicalRun,
    dumps: Mapping[int, Dump],
    layout: RunLayout,
    names: Mapping[int, LogicalNames],
) -> None:
    """What the optimizers read and wrote, a node a parameter, under the node `optimizer`."""
    nodes: dict[str, dict[str, list[Part]]] = {}
    for rank in sorted(dumps):
        place = layout.places[rank]
        for number, step in enumerate(dumps[rank].optimizer.values()):
            for role, key in _ROLES:
                for parameter, record in step.get(role, {}).items():
                    logical = names[rank].updated(parameter)
                    copy = place.at.get("pp", 0) if names[rank].is_tied(logical) else 0
                    coordinates = (*_coordinates(place, logical), 0, copy)
                    values = nodes.setdefault(f"Optimizer.{logical}.{number}.forward", {})
                    values.setdefault(key, []).append(Part(coordinates, rank, len(run.records)))
                    run.records.append(record)
    if nodes and run.dump.parents:
        run.dump.parents.setdefault(OPTIMIZER, None)
        run.dump.micro_steps[OPTIMIZER] = max(run.dump.micro_steps.values(), default=0)
    for name, values in nodes.items():
        start = len(run.parts)
        for key, parts in values.items():
            run.dump.values.keys.append(key)
            run.dump.values.records.append(_placeholder(run, parts[0]))
            run.parts.append(parts)
        run.dump.ranges[name] = (start, len(run.parts))
        run.dump.parents[name] = OPTIMIZER
        run.dump.micro_steps[name] = run.dump.micro_steps[OPTIMIZER]
        run.origin[name] = {part.rank: name for part in values[next(iter(values))]}
