"""One step of one side as one dump whose values still lie in parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from pathlib import Path
from typing import NamedTuple

from builder.dump.passing_calls import PassingCalls
from builder.dump.reader import Dump
from builder.dump.values import Record
from builder.ranks.layout.coordinates import RunLayout

# Where a part of a value stands: tp, cp, dp, micro-batch and (of tied weights) pp, innermost first.
Coordinates = tuple[int, int, int, int, int]


class Part(NamedTuple):
    """One rank's share of a logical value: where it stands and which of the run's records it is."""

    at: Coordinates
    rank: int
    record: int


class Places:
    """Where the parts of values stand, the outermost axis first; many values share one."""

    def __init__(self, listed: tuple[tuple[Coordinates, int], ...]) -> None:
        self.at = tuple(at for at, _ in listed)
        self.ranks = tuple(rank for _, rank in listed)

    @cached_property
    def first(self) -> int:
        """Which of them is the lowest rank's."""
        return self.ranks.index(min(self.ranks))

    @cached_property
    def sizes(self) -> tuple[int, ...] | None:
        """How many places there are along each axis; None where some of them have no part."""
        found = tuple(len(set(places)) for places in zip(*self.at, strict=True))
        return found if prod(found) == len(self.at) else None


class Parts:
    """The parts of one value: where they stand, and which of the run's records they are."""

    __slots__ = ("places", "records")

    def __init__(self, places: Places, records: tuple[int, ...]) -> None:
        self.places, self.records = places, records

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Part]:
        return map(Part, self.places.at, self.places.ranks, self.records)


@dataclass(slots=True)
class LogicalRun:
    """One step of one side as one dump; `parts` of each of its values, `records` of all ranks.

    `origin` has the names that an entry has on the ranks, `folders` the folder of each rank,
    `blank` the arguments of an entry that the dump leaves empty, such as operations of collectives.
    `cut` has the dimension along which tp cuts a parameter, None for what it repeats, by name;
    `updates` the parameter that a call inside an optimizer's step works on, by the call;
    `passing` the calls without values of each rank, by their names there.
    """

    dump: Dump
    layout: RunLayout
    parts: list[Parts]
    records: list[Record]
    origin: dict[str, Mapping[int, str]]
    folders: dict[int, Path]
    joins_micro_batches: bool
    blank: dict[str, frozenset[str]] = field(default_factory=dict)
    cut: dict[str, int | None] = field(default_factory=dict)
    updates: dict[str, str] = field(default_factory=dict)
    passing: dict[int, PassingCalls] = field(default_factory=dict)
