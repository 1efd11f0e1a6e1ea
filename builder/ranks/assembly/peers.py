"""Ranks that make the same calls: one look at the first of them is enough for all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from builder.dump.reader import Dump
from builder.ranks.assembly.alignment import Call, calls_of, parse
from builder.ranks.layout.coordinates import RunLayout
from builder.ranks.layout.names import LogicalNames, Ties, first_experts, renumbered_layers
from msprobe_core.format import EntryName


@dataclass(frozen=True, slots=True)
class Entry:
    """What a dump has of one call: the keys of its values from `start` on, its frames.

    `absent` are the arguments that it leaves empty; `is_placed` says whether its structure has it.
    """

    start: int
    keys: tuple[str, ...]
    has_values: bool
    has_distinct_keys: bool
    is_placed: bool
    frames: str | None
    absent: frozenset[str]


@dataclass(slots=True)
class Peers:
    """Ranks whose dumps have the same calls, with the calls and entries of the first.

    `numbers` are the turns of calls by their names.
    """

    ranks: list[int]
    stage: int
    calls: list[Call]
    entries: list[Entry]
    numbers: dict[str, int] = field(default_factory=dict)


def names_of_ranks(
    dumps: Mapping[int, Dump], layout: RunLayout, ties: Ties | None = None
) -> dict[int, LogicalNames]:
    """How each rank's names become those of the whole model."""
    known: dict[tuple[int, ...], list[str]] = {}
    paths = {}
    for rank, dump in dumps.items():
        alike = _identity(dump)
        if alike not in known:
            known[alike] = [entry.path for entry in _named_entries(dump) if entry.path]
        paths[rank] = known[alike]
    numbers, experts = renumbered_layers(layout, paths), first_experts(layout, paths)
    return {
        rank: LogicalNames(layout.places[rank], layout, numbers[rank], experts[rank], ties)
        for rank in dumps
    }


def micro_batches_of(dumps: Mapping[int, Dump], layout: RunLayout) -> int:
    """How many micro-batches one rank runs in a step: recorded, or how often modules are called."""
    if layout.micro_batches:
        return layout.micro_batches
    numbers = [n for dump in dumps.values() for n in dump.micro_batch.values() if n is not None]
    if numbers:
        return 1 + max(numbers)
    known: dict[tuple[int, ...], Counter[int]] = {}
    counts: Counter[int] = Counter()
    for dump in dumps.values():
        alike = _identity(dump)
        if alike not in known:
            known[alike] = _forward_calls(dump)
        counts.update(known[alike])
    return max(counts, key=lambda count: (counts[count], -count), default=1)


def peers_of(
    dumps: Mapping[int, Dump],
    layout: RunLayout,
    names: Mapping[int, LogicalNames],
    micro_batches: int,
) -> list[Peers]:
    """The ranks by the calls that they make, the lowest rank first."""
    known: dict[object, Peers] = {}
    for rank in sorted(dumps):
        dump, stage = dumps[rank], layout.places[rank].at.get("pp", 0)
        updated = [tuple(step.get("parameters", ())) for step in dump.optimizer.values()]
        numbered = tuple(dump.micro_batch.items())
        alike = (_identity(dump), stage, names[rank].renaming, tuple(updated), numbered)
        peers = known.get(alike)
        if peers is None:
            calls = list(calls_of(dump, names[rank], stage, micro_batches))
            known[alike] = peers = Peers([], stage, calls, [_entry(dump, c.name) for c in calls])
            peers.numbers = {call.name: number for number, call in enumerate(calls)}
        peers.ranks.append(rank)
    return list(known.values())


def make_alike(ours: Mapping[int, Dump], theirs: Mapping[int, Dump]) -> bool:
    """Whether the ranks of two runs make the same calls and update the same parameters.

    Only what `Twins` has seen of both is known to be the same.
    """
    return ours.keys() == theirs.keys() and all(
        _identity(dump) == _identity(theirs[rank])
        and _optimizer_names(dump) == _optimizer_names(theirs[rank])
        and dump.micro_batch == theirs[rank].micro_batch
        for rank, dump in ours.items()
    )


def _optimizer_names(dump: Dump) -> list[list[tuple[str, list[str]]]]:
    return [
        [(role, list(records)) for role, records in step.items()]
        for step in dump.optimizer.values()
    ]


def _identity(dump: Dump) -> tuple[int, ...]:
    """What is the same for dumps that share all that tells their calls."""
    values = dump.values
    shared = (dump.parents, dump.ranges, dump.stacks, dump.frames, values.keys, values.absent)
    return tuple(map(id, shared))


def _named_entries(dump: Dump) -> Iterator[EntryName]:
    entries = (parse(name) for name in (dump.parents or dump.ranges))
    return (entry for entry in entries if entry is not None)


def _forward_calls(dump: Dump) -> Counter[int]:
    """How many modules are called how often."""
    modules = (e for e in _named_entries(dump) if e.kind == "module" and e.direction == "forward")
    return Counter(Counter(entry.owner for entry in modules).values())


def _entry(dump: Dump, name: str) -> Entry:
    start, stop = dump.ranges.get(name, (0, 0))
    keys = tuple(dump.values.keys[start:stop])
    frames = dump.stacks.get(name)
    return Entry(
        start=start,
        keys=keys,
        has_values=name in dump.ranges,
        has_distinct_keys=len(set(keys)) == len(keys),
        is_placed=name in dump.parents,
        frames=None if frames is None else dump.frames[frames],
        absent=frozenset(key for _, key in dump.values.absent.get(name, ())),
    )
