"""The edges through calls without values while they are found: by nodes, with what tells them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from builder.flow.feeding import NOWHERE


class Reading(NamedTuple):
    """What reads a value, and its index there; NOWHERE for a call that left none."""

    node: int
    value: int = NOWHERE


class Way(NamedTuple):
    """From one node to another, in place of an edge that leads straight there from `instead`."""

    producer: int
    consumer: int
    instead: int


@dataclass(slots=True)
class PassageEdges:
    """What was found so far; nodes by their execution order."""

    read: set[int]
    """Of whom something is known to be read."""
    found: dict[Way, tuple[bool, int]] = field(default_factory=dict)
    """Whether numbers tell it, and the index of the value that was read."""

    def add(self, producer: int, to: Reading, told: bool, instead: int = NOWHERE) -> None:
        """Note an edge; numbers have the last word."""
        way = Way(producer, to.node, instead)
        if producer != to.node:
            before, value = self.found.get(way, (False, NOWHERE))
            self.found[way] = before or told, max(value, to.value)
            self.read.add(producer)
