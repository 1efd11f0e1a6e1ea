"""Bugs with a twin: the same change to the program, done right, which must stay silent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from evaluation.zoo.fault import Change, Fault, Kind, Place


@dataclass(frozen=True, slots=True)
class Twins:
    """A bug, its right twin, and the architecture that both are put into."""

    architecture: str
    name: str
    kind: Kind
    wrong: Change
    right: Change
    culprits: tuple[Place, ...]

    @property
    def fault(self) -> Fault:
        """The bug as one of the suite's faults."""
        return Fault(self.name, self.kind, self.wrong, self.culprits)


def twins(
    architecture: str,
    name: str,
    kind: Kind,
    change: Callable[..., None],
    culprits: tuple[Place, ...],
    wrong: object,
    right: object,
) -> Twins:
    """Both sides of a change, which takes what is wrong or right about it as `how`."""
    # Partials of functions of a module: cases travel between processes.
    sides = partial(change, how=wrong), partial(change, how=right)
    return Twins(architecture, name, kind, *sides, culprits)


def faults_of(architecture: str, family: Sequence[Twins]) -> tuple[Fault, ...]:
    """The bugs of one architecture."""
    return tuple(found.fault for found in family if found.architecture == architecture)
