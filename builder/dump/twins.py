"""What the dumps of one run spell alike, kept once: ranks mostly make the same calls.

Dumps that have the same object are alike without a look at what is in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from builder.dump.reader import Dump

_Kept = TypeVar("_Kept", bound=Iterable[object])


@dataclass(frozen=True, slots=True)
class Twins:
    """Gives dumps in place of what they hold the equal objects of those that were seen before."""

    # By what they are and a hash of what they hold: the ranks of many stages are all unlike.
    _known: dict[tuple[str, int], list[object]] = field(default_factory=dict)

    def shared(self, dump: Dump) -> Dump:
        """The same dump; nobody may change in it what others have too."""
        values = dump.values
        return replace(
            dump,
            values=replace(
                values,
                keys=self._first("keys", values.keys),
                absent=self._first("absent", values.absent),
            ),
            ranges=self._first("ranges", dump.ranges),
            parents=self._first("parents", dump.parents),
            micro_steps=self._first("micro_steps", dump.micro_steps),
            stacks=self._first("stacks", dump.stacks),
            frames=self._first("frames", dump.frames),
            modes=self._first("modes", dump.modes),
        )

    def _first(self, name: str, mine: _Kept) -> _Kept:
        known = self._known.setdefault((name, _hash(mine)), [])
        for other in known:
            # Dicts that are equal may have their keys in another order, which is that of calls.
            if other == mine and isinstance(other, type(mine)) and list(other) == list(mine):
                return other
        known.append(mine)
        return mine


def _hash(kept: Iterable[object]) -> int:
    """A hash of members in their order, and of what each stands for."""
    if not isinstance(kept, dict):
        return hash(tuple(kept))
    held = (tuple(each) if isinstance(each, list) else each for each in kept.values())
    return hash((*kept, *held))
