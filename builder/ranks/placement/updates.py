"""What an optimizer wrote and what the next step finds, what shards that ranks share became, and by
what factors ranks clipped: read from the optimizers' own records, by parameter and rank.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from builder.dump.reader import Dump
from builder.dump.statistic_cells import known_or_none, number_of
from builder.dump.values import Record
from builder.ranks.layout.names import LogicalNames
from builder.ranks.placement.copies import are_copies, is_constant

# Factors are computed in single precision from norms of many elements, in one order or another.
_FACTOR_ROUNDING = 1e-4
_REPLICATED = frozenset(("R", "Replicate()"))
Dumps = Mapping[int, Dump]
OfRanks = Mapping[int, Mapping[str, Mapping[str, Record]]]
Place = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class LostUpdate:
    """A parameter that a step has on some ranks as it was before the update of the step before."""

    parameter: str
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class UnlikeShards:
    """Ranks that hold one shard of a parameter, and read or write another `role` for it."""

    parameter: str
    role: str
    ranks: tuple[int, ...]


def optimizer_roles(dumps: Dumps, names: Mapping[int, LogicalNames]) -> OfRanks:
    """By rank, role and parameter of the whole model what the one step of an optimizer recorded.

    Ranks whose optimizers made several steps are left out: which is which is not known.
    """
    found = {}
    for rank, dump in dumps.items():
        steps = list(dump.optimizer.values())
        if len(steps) == 1:
            found[rank] = {
                role: {names[rank].updated(name): record for name, record in listed.items()}
                for role, listed in steps[0].items()
                if role != "clipping"
            }
    return found


def lost_updates(before: OfRanks, after: OfRanks) -> list[LostUpdate]:
    """What was written and is gone, where ranks have kept other updates; nothing where none has.

    A program that takes back a step does so on all ranks.
    """
    lost: defaultdict[str, list[int]] = defaultdict(list)
    kept = False
    for rank in sorted(before.keys() & after.keys()):
        first, second = before[rank], after[rank]
        for name, found in second.get("parameters", {}).items():
            old = first.get("parameters", {}).get(name)
            new = first.get("output", {}).get(name)
            if old is None or new is None or _is_same(old, new):
                continue
            if _is_same(found, new):
                kept = True
            elif _is_same(found, old):
                lost[name].append(rank)
    return [LostUpdate(name, tuple(ranks)) for name, ranks in lost.items()] if kept else []


def unlike_shards(dumps: Dumps, roles: OfRanks) -> Iterator[UnlikeShards]:
    """The shards that several ranks share by their placements, and that they update unlike.

    Ranks that hold one shard and stand on no common axis are its replicas as well.
    """
    groups: defaultdict[tuple[str, Place], list[int]] = defaultdict(list)
    for rank, found in roles.items():
        for name, record in found.get("parameters", {}).items():
            place = _shard_of(dumps[rank], record)
            if place is not None:
                groups[name, place].append(rank)
    for (name, _), ranks in groups.items():
        listed = [roles[rank]["parameters"][name] for rank in ranks]
        if len(ranks) < 2 or not are_copies(listed):
            continue
        for role in ("input", "output"):
            made = [roles[r][role][name] for r in ranks if name in roles[r].get(role, {})]
            # A gradient that torch keeps as a part of a sum is added up when it is read.
            is_alike = len({r.placements for r in (*made, *listed)}) == 1
            if len(made) == len(ranks) and is_alike and not are_copies(made):
                yield UnlikeShards(name, role, tuple(sorted(ranks)))
                break


def clipping_factors(dumps: Dumps) -> dict[int, float]:
    """By rank the factor that the one clipping of its step recorded; ranks without are left out."""
    found = {}
    for rank, dump in dumps.items():
        factors = [
            known_or_none(number_of(step["clipping"]["factor"].Max))
            for step in dump.optimizer.values()
            if "factor" in step.get("clipping", {})
        ]
        if len(factors) == 1 and factors[0] is not None:
            found[rank] = factors[0]
    return found


def are_unlike_factors(factors: Mapping[int, float]) -> bool:
    """Whether ranks clipped by more than one factor."""
    most, least = max(factors.values(), default=0.0), min(factors.values(), default=0.0)
    return most - least > _FACTOR_ROUNDING * most


def _is_same(one: Record, other: Record) -> bool:
    """Whether a rank has a tensor unchanged: all that is recorded of it, to the last digit."""
    if is_constant(one) and is_constant(other):
        return one.shape == other.shape and one.Max == other.Max
    told = [(r.shape, r.Max, r.Min, r.Mean, r.Norm, r.md5, r.sketch) for r in (one, other)]
    return told[0] == told[1] and any(cell is not None for cell in told[0][1:])


def _shard_of(dump: Dump, record: Record) -> Place | None:
    """The places of a shard on the axes that cut it; None where no layout of it is recorded."""
    axes = {} if dump.parallel is None else dump.parallel.axes
    placed = list(zip(record.mesh or (), record.placements or (), strict=False))
    if not placed or any(name not in axes for name, _ in placed):
        return None
    return tuple((n, axes[n].rank) for n, placement in placed if placement not in _REPLICATED)
