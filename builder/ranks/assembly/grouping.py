"""Brings the calls of all ranks together that are one call of the logical model, and names them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from builder.ranks.assembly.alignment import Call
from builder.ranks.assembly.batches import Share
from builder.ranks.assembly.logical_run import Coordinates, Places
from builder.ranks.assembly.peers import Entry, Peers
from builder.ranks.layout.coordinates import Place, RunLayout
from builder.ranks.layout.names import is_expert


@dataclass(frozen=True, slots=True)
class Spot:
    """The ranks of some peers whose calls belong to one micro-batch, and where their parts stand.

    `starts` are the first records of these ranks, in the order of the places; `first_rank` is the
    lowest of them.
    """

    micro: int
    places: Places
    starts: tuple[int, ...]
    first_rank: int


@dataclass(slots=True)
class Made:
    """A call of some peers, at a spot."""

    peers: Peers
    number: int
    spot: Spot

    @property
    def call(self) -> Call:
        """The call on the first of the peers."""
        return self.peers.calls[self.number]

    @property
    def entry(self) -> Entry:
        """What the first of the peers has of the call."""
        return self.peers.entries[self.number]


@dataclass(slots=True)
class Group:
    """The same call on several ranks (and micro-batches, where they are joined).

    Forward and backward calls that belong together have the same `pair`.
    """

    micro: int
    pair: int
    made: list[Made] = field(default_factory=list)
    name: str = ""


class Grouping:
    """Groups the calls of a run; `starts` has the number of each rank's first record.

    `tied` are parameters of which several stages have a copy.
    """

    def __init__(
        self,
        layout: RunLayout,
        join: bool,
        moved: Mapping[Share, Share],
        starts: Mapping[int, int],
        tied: frozenset[str] = frozenset(),
    ) -> None:
        self._tied = tied
        self._layout, self._join, self._moved, self._starts = layout, join, moved, starts
        self._groups: dict[tuple[int, int], Group] = {}
        self._keys: dict[Hashable, int] = {}
        self._pairs: dict[Hashable, int] = {}
        # By peers and call the group that each of their ranks is in.
        self._of_rank: dict[int, list[dict[int, Group]]] = {}

    def ordered(self, listed: Iterable[Peers]) -> list[Group]:
        """All groups with their names, in the order of the logical model."""
        for peers in listed:
            self._add(peers)
        for group in self._groups.values():
            if len(group.made) > 1:
                group.made.sort(key=lambda made: made.spot.first_rank)
        ordered = sorted(self._groups.values(), key=_logical_order)
        _give_names(ordered)
        return ordered

    def group_of(self, made: Made, rank: int, name: str) -> Group | None:
        """The group of another call of a rank; None for a name that it makes no call of."""
        number = made.peers.numbers.get(name)
        return None if number is None else self._of_rank[id(made.peers)][number].get(rank)

    def _add(self, peers: Peers) -> None:
        spots: dict[tuple[bool, bool, int, int], list[Spot]] = {}
        groups, made_by = self._groups, self._of_rank.setdefault(id(peers), [])
        has_experts = bool(self._moved) or any(
            self._layout.places[rank].expert_at is not None for rank in peers.ranks
        )
        for number, call in enumerate(peers.calls):
            key = self._keys.setdefault(call.key, len(self._keys))
            pair = self._pairs.setdefault(_pair_key(call), len(self._pairs))
            expert = has_experts and is_expert(f"{call.parent} {call.owner}")
            copy = peers.stage if call.parameter in self._tied else 0
            at = (expert, call.phase < 2 and not _is_gradient(call), call.micro, copy)
            known = spots.get(at)
            if known is None:
                known = spots[at] = self._spots(peers.ranks, *at)
            of_rank: dict[int, Group] = {}
            for spot in known:
                group = groups.get((key, spot.micro))
                if group is None:
                    group = groups[key, spot.micro] = Group(spot.micro, pair)
                group.made.append(Made(peers, number, spot))
                for rank in spot.places.ranks:
                    of_rank[rank] = group
            made_by.append(of_rank)

    def _spots(
        self, ranks: Sequence[int], expert: bool, own: bool, micro: int, copy: int
    ) -> list[Spot]:
        """Where the ranks make a call; with `own`, each for its share of the batch."""
        by_micro: dict[int, list[tuple[Coordinates, int]]] = {}
        for rank in ranks:
            tp, cp, dp = coordinates(self._layout.places[rank], expert)
            share = dp, micro
            if own and not expert:
                share = self._moved.get(share, share)
            if self._join or not own:
                place = (tp, cp, share[0], share[1] if own else 0, copy)
                by_micro.setdefault(0, []).append((place, rank))
            else:
                logical = share[1] * self._layout.size("dp") + share[0]
                by_micro.setdefault(logical, []).append(((tp, cp, 0, 0, copy), rank))
        found = []
        for logical, listed in by_micro.items():
            listed.sort(key=lambda place: place[0][::-1])
            starts = tuple(self._starts[rank] for _, rank in listed)
            lowest = min(rank for _, rank in listed)
            found.append(Spot(logical, Places(tuple(listed)), starts, lowest))
        return found


def coordinates(place: Place, expert: bool) -> tuple[int, int, int]:
    """Where a rank stands along tp, cp and dp, for what experts compute or for all else."""
    at = place.of(expert) if place.expert_at is not None else place.at
    return at.get("tp", 0), at.get("cp", 0), at.get("dp", 0)


def natural(name: str) -> list[tuple[int, str]]:
    """A key that sorts names with numbers in them as people do."""
    return [(int(s), "") if s.isdigit() else (-1, s) for s in name.split(".")]


def _is_gradient(call: Call) -> bool:
    return call.entry is not None and call.entry.kind == "parameters_grad"


def _logical_order(group: Group) -> tuple[object, ...]:
    made = group.made[0]
    call, stage = made.call, made.peers.stage
    place = (call.phase == 2, group.micro, call.phase)
    if call.parameter is not None:
        # Behind everything else, in an order of names that no layout changes.
        return (*place, 1, natural(call.parameter), 0, call.order, made.spot.first_rank)
    stage = -stage if call.phase == 1 else stage
    return (*place, 0, _NO_NAME, stage, call.order, made.spot.first_rank)


_NO_NAME: list[tuple[int, str]] = []


def _give_names(ordered: Iterable[Group]) -> None:
    counts: dict[str, int] = {}
    numbers: dict[tuple[int, int], int] = {}
    for group in ordered:
        call = group.made[0].call
        if call.entry is None:
            group.name = call.owner
            continue
        if _is_gradient(call):
            group.name = f"{call.owner}.parameters_grad.0"
            continue
        number = numbers.get((group.pair, group.micro))
        if number is None:
            number = numbers[group.pair, group.micro] = counts.get(call.owner, 0)
            counts[call.owner] = number + 1
        direction = call.entry.direction
        if call.entry.kind == "module":
            group.name = f"{call.owner}.{direction}.{number}"
        else:
            group.name = f"{call.owner}.{number}.{direction}"


def _pair_key(call: Call) -> Hashable:
    """What a forward call and its backward call have in common, with their micro-batch."""
    if call.entry is not None and call.entry.kind == "module":
        assert isinstance(call.key, tuple)
        return (call.owner, call.key[2])
    if isinstance(call.key, tuple) and len(call.key) == 2 and call.key[1] == "backward":
        return (call.key[0],)
    return (call.key,)
