"""Puts the entries of all ranks of one step into one dump whose values still lie in parts.

The dump has the logical model's names, places and order; what its values are is decided later,
when the other side is known.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import msgspec

from builder.dump.passing_calls import PassingCalls
from builder.dump.reader import Dump, Modes
from builder.dump.values import Record, Values
from builder.ranks.assembly.alignment import OPTIMIZER, Call
from builder.ranks.assembly.batches import Share
from builder.ranks.assembly.grouping import Group, Grouping, Made, coordinates
from builder.ranks.assembly.logical_run import LogicalRun, Part, Parts, Places
from builder.ranks.assembly.peers import Entry, names_of_ranks, peers_of
from builder.ranks.layout.coordinates import RunLayout
from builder.ranks.layout.names import LogicalNames, Ties, is_expert
from msprobe_core.format import TENSOR_DIR

_ROLES = (
    ("input", "input.gradient"),
    ("parameters", "parameters.value"),
    ("output", "output.value"),
)


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
    run = _empty(dumps, layout, join)
    tied = frozenset((ties or {}).values())
    grouping = Grouping(layout, join, moved or {}, _gather_records(run, dumps), tied)
    assembly = _Assembly(run, grouping)
    for group in grouping.ordered(peers_of(dumps, layout, logical, micro_batches)):
        assembly.add(group)
    _add_optimizer(run, dumps, layout, logical)
    run.cut = _cuts(dumps, logical)
    run.dump.modes = _modes(run, dumps)
    return run


def assemble_like(other: LogicalRun, dumps: Mapping[int, Dump]) -> LogicalRun:
    """Bring ranks together that make the calls that another run's make, in the same places.

    Names, order and parts are those of the other run; only the records are theirs.
    """
    run = _empty(dumps, other.layout, other.joins_micro_batches)
    _gather_records(run, dumps)
    run.records += [found.record for found in _optimizer_records(dumps)]
    for name in ("ranges", "parents", "micro_steps", "stacks", "frames"):
        setattr(run.dump, name, getattr(other.dump, name))
    run.parts, run.origin, run.blank = other.parts, other.origin, other.blank
    run.updates = other.updates
    run.dump.values.keys = other.dump.values.keys
    for parts in run.parts:
        first = parts.places.first
        record = run.records[parts.records[first]]
        run.dump.values.records.append(_placeholder(run, record, parts.places.ranks[first]))
    run.cut = _cuts(dumps, names_of_ranks(dumps, other.layout))
    run.dump.modes = _modes(run, dumps)
    return run


def _modes(run: LogicalRun, dumps: Mapping[int, Dump]) -> Modes:
    """In which mode modules run, of those that run in one on all ranks."""
    found: Modes = {}
    for name, origin in run.origin.items():
        modes = {dumps[rank].modes.get(own) for rank, own in origin.items()}
        mode = modes.pop() if len(modes) == 1 else None
        if mode is not None:
            found[name] = mode
    return found


def _cuts(dumps: Mapping[int, Dump], names: Mapping[int, LogicalNames]) -> dict[str, int | None]:
    return {
        names[rank].parameter(name): told.dim if told.tp else None
        for rank, dump in dumps.items()
        if dump.parallel is not None
        for name, told in dump.parallel.layouts.items()
    }


def _empty(dumps: Mapping[int, Dump], layout: RunLayout, join: bool) -> LogicalRun:
    dump = replace(
        dumps[min(dumps)],
        values=Values(),
        ranges={},
        parents={},
        micro_steps={},
        stacks={},
        frames=[],
        joined={},
        sketch_version=_common_version(dumps),
    )
    folders = {rank: dump.path for rank, dump in dumps.items()}
    passing: dict[int, PassingCalls] = {rank: own.passing or {} for rank, own in dumps.items()}
    return LogicalRun(dump, layout, [], [], {}, folders, join, passing=passing)


def _gather_records(run: LogicalRun, dumps: Mapping[int, Dump]) -> dict[int, int]:
    starts = {}
    for rank in sorted(dumps):
        starts[rank] = len(run.records)
        run.records += dumps[rank].values.records
    return starts


class _Assembly:
    """Adds the entries of groups to a run."""

    def __init__(self, run: LogicalRun, grouping: Grouping) -> None:
        self._run, self._grouping = run, grouping
        self._frames: dict[str, int] = {}

    def add(self, group: Group) -> None:
        run, dump, first = self._run, self._run.dump, group.made[0]
        entry, rank = first.entry, first.spot.first_rank
        if entry.is_placed:
            dump.parents[group.name] = self._parent(first, rank)
            dump.micro_steps[group.name] = group.micro
        if entry.frames is not None:
            number = self._frames.setdefault(entry.frames, len(dump.frames))
            if number == len(dump.frames):
                dump.frames.append(entry.frames)
            dump.stacks[group.name] = number
        run.origin[group.name] = _origin(group)
        if first.call.parameter is not None:
            run.updates[group.name] = first.call.parameter
        if entry.absent:
            run.blank[group.name] = entry.absent
        start = len(dump.values.keys)
        if len(group.made) == 1 and entry.has_distinct_keys:
            self._add_once(first, entry, rank)
        else:
            self._add_several(group)
        if len(dump.values.keys) > start or entry.has_values:
            dump.ranges[group.name] = (start, len(dump.values.keys))

    def _parent(self, made: Made, rank: int) -> str | None:
        parent = made.call.parent
        around = None if parent is None else self._grouping.group_of(made, rank, parent)
        return parent if around is None else around.name

    def _add_once(self, made: Made, entry: Entry, rank: int) -> None:
        """The values of a call that ranks make alike, each once."""
        run, places, starts = self._run, made.spot.places, made.spot.starts
        own = range(entry.start, entry.start + len(entry.keys))
        if len(starts) == 1:
            run.parts += [Parts(places, (starts[0] + index,)) for index in own]
        else:
            run.parts += [Parts(places, tuple([s + index for s in starts])) for index in own]
        run.dump.values.keys += entry.keys
        base = starts[places.ranks.index(rank)]
        records = run.records[base + own.start : base + own.stop]
        run.dump.values.records += [
            r if r.source is r.data_name is None else _placeholder(run, r, rank) for r in records
        ]

    def _add_several(self, group: Group) -> None:
        """The values of calls that ranks make in several ways, on several stages, or repeat."""
        listed: dict[str, list[Part]] = {}
        stages = {made.peers.stage for made in group.made}
        for made in group.made:
            start, keys, call = made.entry.start, made.entry.keys, made.call
            spot = made.spot
            for at, rank, base in zip(spot.places.at, spot.places.ranks, spot.starts, strict=True):
                for index, key in enumerate(keys, base + start):
                    # A container on several stages has the first's inputs and the last's outputs.
                    if len(stages) == 1 or made.peers.stage == _stage_of(key, call, stages):
                        listed.setdefault(key, []).append(Part(at, rank, index))
        for key, parts in listed.items():
            _add_value(self._run, key, parts)


def _origin(group: Group) -> dict[int, str]:
    if len(group.made) == 1:
        return dict.fromkeys(group.made[0].spot.places.ranks, group.made[0].call.name)
    return {rank: made.call.name for made in group.made for rank in made.spot.places.ranks}


def _add_value(run: LogicalRun, key: str, parts: list[Part]) -> None:
    first = min(parts, key=lambda part: part.rank)
    run.dump.values.keys.append(key)
    run.dump.values.records.append(_placeholder(run, run.records[first.record], first.rank))
    parts.sort(key=lambda part: (part.at[::-1], part.rank))
    places = Places(tuple((part.at, part.rank) for part in parts))
    run.parts.append(Parts(places, tuple(part.record for part in parts)))


def _placeholder(run: LogicalRun, record: Record, rank: int) -> Record:
    """The record of one part; its tensor lies in the folder of its own rank."""
    if record.source is not None:
        record = msgspec.structs.replace(record, source=None)  # entries have other names there
    if record.data_name is None or run.folders[rank] == run.dump.path:
        return record
    name = f"rank{rank}/{record.data_name}"
    run.dump.joined[name] = os.fspath(run.folders[rank] / TENSOR_DIR / record.data_name)
    return msgspec.structs.replace(record, data_name=name)


def _common_version(dumps: Mapping[int, Dump]) -> int | None:
    versions = {dump.sketch_version for dump in dumps.values()}
    return versions.pop() if len(versions) == 1 else None


def _stage_of(key: str, call: Call, stages: Iterable[int]) -> int:
    enters = key.startswith(("input", "parameters")) == (call.phase == 0)
    return min(stages) if enters else max(stages)


class _Updated(NamedTuple):
    rank: int
    step: int
    key: str
    parameter: str
    record: Record


def _optimizer_records(dumps: Mapping[int, Dump]) -> Iterator[_Updated]:
    for rank in sorted(dumps):
        for number, step in enumerate(dumps[rank].optimizer.values()):
            shares = step.get("shares", {})  # of parameters that no rank's optimizer has whole
            for role, key in _ROLES:
                for parameter, record in step.get(role, {}).items():
                    if parameter in shares:
                        continue
                    yield _Updated(rank, number, key, parameter, record)


def _add_optimizer(
    run: LogicalRun,
    dumps: Mapping[int, Dump],
    layout: RunLayout,
    names: Mapping[int, LogicalNames],
) -> None:
    """What the optimizers read and wrote, a node a parameter, under the node `optimizer`."""
    nodes: dict[str, dict[str, list[Part]]] = {}
    for rank, number, key, parameter, record in _optimizer_records(dumps):
        logical, place = names[rank].updated(parameter), layout.places[rank]
        copy = place.at.get("pp", 0) if names[rank].is_tied(logical) else 0
        at = (*coordinates(place, is_expert(logical)), 0, copy)
        values = nodes.setdefault(f"Optimizer.{logical}.{number}.forward", {})
        values.setdefault(key, []).append(Part(at, rank, len(run.records)))
        run.records.append(record)
    has_tree = bool(run.dump.parents)  # a dump of calls alone says of none where it stands
    if nodes and has_tree:
        run.dump.parents.setdefault(OPTIMIZER, None)
        run.dump.micro_steps[OPTIMIZER] = max(run.dump.micro_steps.values(), default=0)
    for name, values in nodes.items():
        start = len(run.parts)
        for key, parts in values.items():
            _add_value(run, key, parts)
        run.dump.ranges[name] = (start, len(run.parts))
        if has_tree:
            run.dump.parents[name] = OPTIMIZER
            run.dump.micro_steps[name] = run.dump.micro_steps[OPTIMIZER]
        run.origin[name] = {part.rank: name for part in values[next(iter(values))]}
