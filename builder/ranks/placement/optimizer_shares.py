"""Shares of parameters that ranks' optimizers hold: ZeRO, FSDP of flat parameters, Megatron's.

The shares of a parameter lie end to end over its elements, so that their squares of norms and their
sums of elements add up to those of the whole: Σ‖sᵢ‖² = ‖p‖² and Σ nᵢ·mean(sᵢ) = n·mean(p). What a
module reads is therefore known of what optimizers hold, and whoever lost an update misses both.
Sums of elements are linear, too: the shares of a reduced gradient have f times the sum of what the
backward passes of the ranks gave, with one f for all parameters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod, sqrt
from statistics import median

from builder.dump.reader import Dump
from builder.dump.statistic_cells import known_or_none, number_of
from builder.dump.values import Record
from builder.ranks.joining.parts import RunValues
from builder.ranks.joining.told import names_of
from builder.ranks.joining.tolerances import epsilon_of, recorded_rounding
from builder.ranks.layout.names import LogicalNames
from builder.ranks.placement.updates import OfRanks, optimizer_roles

_PEERS = 3  # the fewest of which a usual factor is known
_CLEAR = 0.05  # of a factor: a sum over two ranks that one left out misses by half
_SHARING = ("dp", "cp", "ep")  # the axes over which optimizers share parameters out
Numbers = tuple[float, float, float]  # elements, their sum, their sum of squares


@dataclass(frozen=True, slots=True)
class UnreadShares:
    """A parameter that a module reads on some ranks as something else than the shares make up."""

    node: str
    parameter: str
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class UnsummedShares:
    """A parameter whose shares of gradients are not the sum of what backward passes gave.

    They are for `peers` others, which share one factor.
    """

    node: str
    parameter: str
    ranks: tuple[int, ...]
    peers: int


class OptimizerShares:
    """The shares of one step, by group of ranks that share parameters out among them."""

    def __init__(
        self, values: RunValues, dumps: Mapping[int, Dump], names: Mapping[int, LogicalNames]
    ) -> None:
        self._values, self._roles = values, optimizer_roles(dumps, names)
        self._groups = self._grouped(self._roles)

    def unread(self) -> Iterator[UnreadShares]:
        """The parameters that modules read as something else than the shares that there are."""
        for name, ranks in self._groups:
            whole = self._whole(name, ranks, "parameters")
            read = self._read.get(name)
            if whole is None or read is None:
                continue
            node, records = read
            own = {r: record for r, record in records.items() if r in ranks}
            off = [rank for rank, record in own.items() if not _is_made_of(record, whole)]
            if off:
                yield UnreadShares(node, name, tuple(sorted(off)))

    def unsummed(self) -> Iterator[UnsummedShares]:
        """The parameters whose gradients ranks did not add up as they did those of most."""
        factors = {place: f for place in self._groups if (f := self._factor(*place)) is not None}
        if len(factors) < _PEERS + 1:
            return
        usual = median(factors.values())
        near = {p for p, f in factors.items() if abs(f - usual) <= _CLEAR * abs(usual)}
        if 2 * len(near) <= len(factors):
            return
        for name, ranks in factors.keys() - near:
            node = self._read[name][0]
            yield UnsummedShares(node, name, ranks, len(near))

    def _grouped(self, roles: OfRanks) -> list[tuple[str, tuple[int, ...]]]:
        """Each parameter that is shared out, with the ranks that hold shares of one tensor."""
        places = self._values.run.layout.places
        groups: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
        for rank, found in roles.items():
            at = places[rank].at if rank in places else {}
            apart = tuple(sorted((a, n) for a, n in at.items() if a not in _SHARING))
            for name in found.get("shares", {}):
                groups[name, apart].append(rank)
        return [(str(key[0]), tuple(sorted(ranks))) for key, ranks in groups.items()]

    @cached_property
    def _read(self) -> dict[str, tuple[str, dict[int, Record]]]:
        """By parameter, the module's call that reads it, and what it reads on each rank."""
        return dict(_of_modules(self._values, "parameters."))

    @cached_property
    def _given(self) -> dict[str, tuple[str, dict[int, Record]]]:
        """By parameter, what the backward pass of each rank gave, where it gave one gradient."""
        return dict(_of_modules(self._values, "parameters_grad."))

    def _whole(self, name: str, ranks: Sequence[int], role: str) -> Numbers | None:
        """What the shares make up together; None unless they lie end to end over the whole."""
        shares: dict[int, tuple[int, Record]] = {}
        size = 0
        for rank in ranks:
            place, record = self._share(rank, name, role)
            if place is None or record is None:
                return None
            offset, length, size = place
            shares.setdefault(offset, (length, record))
        end = 0
        for offset in sorted(shares):
            if offset != end:
                return None
            end += shares[offset][0]
        numbers = [_numbers(record, length) for length, record in shares.values()]
        if end != size or None in numbers:
            return None
        known = [each for each in numbers if each is not None]
        return float(size), sum(n[1] for n in known), sum(n[2] for n in known)

    def _share(
        self, rank: int, name: str, role: str
    ) -> tuple[tuple[int, int, int] | None, Record | None]:
        found = self._roles[rank]
        told = found.get("shares", {}).get(name)
        place = told.value if told is not None else None
        if not isinstance(place, list) or len(place) != 3:
            return None, None
        offset, length, whole = (int(number) for number in place)
        return (offset, length, whole), found.get(role, {}).get(name)

    def _factor(self, name: str, ranks: tuple[int, ...]) -> float | None:
        """The sum of elements that optimizers read over that which backward passes gave.

        None where it is lost in rounding: n elements of norm ‖g‖ sum up to within ε·√n·‖g‖.
        """
        whole, given = self._whole(name, ranks, "input"), self._given.get(name)
        if whole is None or given is None or not set(ranks) <= given[1].keys():
            return None
        records = [given[1][rank] for rank in ranks]
        numbers = [_numbers(r, prod(r.shape or (1,))) for r in records]
        known = [each for each in numbers if each is not None and each[0] == whole[0]]
        if len(known) < len(records) or name not in self._read:
            return None
        total = sum(each[1] for each in known)
        size = sqrt(whole[0]) * sum(sqrt(each[2]) for each in known)
        lost = 4 * epsilon_of(r.dtype for r in records) * size
        return whole[1] / total if abs(total) * _CLEAR > lost else None


def _of_modules(
    values: RunValues, role: str
) -> Iterator[tuple[str, tuple[str, dict[int, Record]]]]:
    """By parameter the last entry of a role, with its record on each rank that has one alone."""
    for index, key in enumerate(values.keys):
        owner = values.owner[index]
        if not key.startswith(role) or not owner.startswith("Module."):
            continue
        records: dict[int, Record] = {}
        ranks = [part.rank for part in values.run.parts[index]]
        if len(set(ranks)) < len(ranks) and role == "parameters_grad.":
            continue  # of several micro-batches the last is no sum
        for part in values.run.parts[index]:
            records.setdefault(part.rank, values.run.records[part.record])
        for name in names_of(owner, key):
            yield name, (owner, records)


def _numbers(record: Record, count: int) -> Numbers | None:
    mean, norm = known_or_none(number_of(record.Mean)), known_or_none(number_of(record.Norm))
    return None if mean is None or norm is None else (float(count), count * mean, norm**2)


def _is_made_of(record: Record, whole: Numbers) -> bool:
    """Whether a parameter may be what shares make up, or is unknown.

    Each of its elements may be rounded to its own format once, whatever that of the shares.
    """
    count, total, squares = whole
    found = _numbers(record, prod(record.shape or (1,)))
    if found is None or found[0] != count:
        return True
    limit = 4 * recorded_rounding(count) + epsilon_of([record.dtype])
    norm = sqrt(squares)
    is_as_long = abs(sqrt(found[2]) - norm) <= limit * norm
    return is_as_long and abs(found[1] - total) <= limit * sqrt(count) * norm
