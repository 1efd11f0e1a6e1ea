"""Runs of calls without values: which are free, what each works on, edges through them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile

from builder.flow.feeding import NOWHERE
from builder.flow.passage_edges import PassageEdges, Reading
from builder.flow.silent_calls import Calls, Work


@dataclass(slots=True)
class SilentRuns:
    """The silent calls of one side while edges are led through them; calls go by their place."""

    calls: Calls
    edges: PassageEdges
    claimed: dict[int, object] = field(default_factory=dict)
    """What silent calls were found to work on."""

    def views_after(self, order: int, stop: int) -> list[int]:
        """The views right after a node, before a place."""
        run = self.calls.run_after(order, stop)
        return list(takewhile(lambda place: self.works(place, "view"), run))

    def casts_between(self, order: int, stop: int) -> list[int]:
        """All calls between a node and a place, where these are silent views and casts alone."""
        run = self.calls.run_after(order, stop)
        ends = bool(run) and run[-1] + 1 == stop
        return run if ends and all(self.works(place, "view", "cast") for place in run) else []

    def cut_after(self, order: int, stop: int, several: bool) -> list[int]:
        """The views up to a call that cuts; those behind it only where one part alone is read."""
        run = self.calls.run_after(order, stop)
        at = next((at for at, place in enumerate(run) if self.works(place, "part")), None)
        if at is None or not all(self.works(place, "view") for place in run[:at]):
            return []
        behind = [] if several else self.views_after(self.calls.order[run[at]], stop)
        return [*run[: at + 1], *behind]

    def views_before(self, stop: int) -> list[int]:
        """The views right before a place."""
        run = self.calls.run_before(stop)
        start = next(
            (at for at, place in enumerate(run[::-1]) if not self.works(place, "view")), len(run)
        )
        return run[len(run) - start :]

    def works(self, place: int, *works: Work) -> bool:
        """Whether a call does one of these."""
        return self.calls.works[place] in works

    def _links(self, run: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Pairs of calls that follow each other; calls of one name before a join are side by side.

        `cat([x.flatten(), y.flatten()])` runs three calls of which none but the last reads another.
        """
        join = next((at for at, place in enumerate(run) if self.works(place, "join")), 0)
        seen: set[str] = set()
        for one, other in pairwise(run[: join + 1]):
            seen.add(self._name(one))
            apart = other != run[join] and self._name(other) in seen
            seen -= seen if apart else set()
            yield one, run[join] if apart else other
        yield from pairwise(run[join:])

    def joined_by_last(self, run: list[int]) -> list[int]:
        """The last of a run; where that joins, with views right before it of one name."""
        before = run[:-1]
        alike = len(before) > 1 and len({self._name(place) for place in before}) == 1
        views = alike and all(self.works(place, "view") for place in before)
        return run if views and self.works(run[-1], "join") else run[-1:]

    def _name(self, place: int) -> str:
        entry = self.calls.listed[place].entry
        return entry.type_name if entry is not None else ""

    def claim(self, run: Sequence[int], key: object) -> bool:
        """Take silent calls for one use, where no other has them."""
        if not run or any(self.claimed.get(place, key) != key for place in run):
            return False
        self.claimed.update(dict.fromkeys(run, key))
        return True

    def lead(
        self,
        sources: Iterable[int],
        run: Sequence[int],
        to: Reading,
        told: bool,
        instead: int = NOWHERE,
    ) -> None:
        """Edges from sources through a run of silent calls to what read the value."""
        orders = [self.calls.order[place] for place in run]
        if not orders:
            for source in sources:
                self.edges.add(source, to, told, instead)
            return
        for source in sources:
            self.edges.add(source, Reading(orders[0]), told)
        for one, other in self._links(run):
            self.edges.add(self.calls.order[one], Reading(self.calls.order[other]), False)
        self.edges.add(orders[-1], to, told, instead)
