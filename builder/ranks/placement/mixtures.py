"""Gradients of unlike parameters that are added up over ranks as if they were of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from builder.dump.sketch_numbers import sketches_of
from builder.dump.statistic_cells import number_of
from builder.dump.values import Record
from builder.ranks.assembly.alignment import parse
from builder.ranks.assembly.logical_run import Part
from builder.ranks.joining.layouts import AXIS_NAMES
from builder.ranks.joining.parts import REDUCING, RunValues, fingerprint
from builder.ranks.joining.told import OPTIMIZER, names_of
from builder.ranks.joining.tolerances import epsilon_of, sum_rounding
from builder.ranks.placement.copies import are_apart, are_copies, is_constant
from msprobe_core.format import COMMUNICATION

_DIGITS = 6  # of numbers in single precision; what is rounded across a digit is not recognised
_AXES = ("tp", "cp", "dp")  # along which ranks may hold shares of a parameter


@dataclass(frozen=True, slots=True)
class UnlikeSum:
    """A collective that adds up gradients of other parameters on each rank, by rank."""

    call: str
    names: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class OneForUnlike:
    """A parameter of which ranks hold unlike shares, and read one gradient for all of them."""

    node: str
    parameter: str
    axis: str
    ranks: tuple[int, ...]


def sums_of_unlike(values: RunValues) -> Iterator[UnlikeSum]:
    """The sums of gradients of unlike parameters, each called by its numbers.

    Stages of a pipeline add up the gradients of a weight that has other names on each.
    """
    names = _names_of_gradients(values)
    for owner, (start, stop) in values.run.dump.ranges.items():
        entry = parse(owner) if owner.partition(".")[0] in COMMUNICATION else None
        if entry is None or entry.type_name not in REDUCING:
            continue
        given = _by_rank(values, start, stop, ("input.0", "input.tensor"))
        made = _by_rank(values, start, stop, ("output.0", "output.tensor"))
        for group in _groups(values, start, stop, given):
            found = {rank: names.get((rank, _direction(given[rank]))) for rank in group}
            known = {rank: name for rank, name in found.items() if name}
            if len(known) < len(group) or len(set(known.values())) < 2:
                continue
            if group[0] in made and _is_sum([given[r] for r in group], made[group[0]]):
                yield UnlikeSum(owner, known)


def one_for_unlike(values: RunValues) -> Iterator[OneForUnlike]:
    """The parameters whose unlike shares are updated by one gradient."""
    for owner, (start, stop) in values.run.dump.ranges.items():
        if not owner.startswith(OPTIMIZER):
            continue
        at = {values.keys[index]: index for index in range(start, stop)}
        gradient, parameter = at.get("input.gradient"), at.get("parameters.value")
        if gradient is None or parameter is None:
            continue
        for axis in _AXES:
            ranks = _unlike_with_one(values, owner, axis, gradient, parameter)
            if ranks:
                name = next(names_of(owner, "input.gradient"))
                yield OneForUnlike(owner, name, axis, ranks)


def _unlike_with_one(
    values: RunValues, owner: str, axis: str, gradient: int, parameter: int
) -> tuple[int, ...]:
    """The ranks along an axis, where all hold unlike shares and read one gradient."""
    weights = groups_along(values, parameter, axis)
    gradients = groups_along(values, gradient, axis)
    if weights.keys() != gradients.keys() or any(len(g) < 2 for g in weights.values()):
        return ()
    if not weights or len({tuple(sorted(group)) for group in weights.values()}) < len(weights):
        return ()
    for place, group in weights.items():
        own = list(gradients[place].values())
        # What torch keeps whole is one gradient for all shares, of which each rank takes its own.
        if {record.shape for record in own} != {record.shape for record in group.values()}:
            return ()
        if not are_apart(owner, list(group.values())) or not are_copies(own):
            return ()
        if is_constant(own[0]) or not fingerprint(own[0]):
            return ()
    return tuple(sorted({rank for group in weights.values() for rank in group}))


def groups_along(
    values: RunValues, index: int, axis: str
) -> dict[tuple[int, ...], dict[int, Record]]:
    """A value's records by rank along an axis, for each place on the other axes."""
    at = AXIS_NAMES.index(axis)
    groups: dict[tuple[int, ...], dict[int, Record]] = {}
    for part in values.run.parts[index]:
        rest = (*part.at[:at], *part.at[at + 1 :])
        groups.setdefault(rest, {})[part.rank] = values.run.records[part.record]
    return groups


def _names_of_gradients(values: RunValues) -> dict[tuple[int, tuple[object, ...]], str]:
    """The parameter that a gradient is of, by rank and direction; "" where several have it."""
    names: dict[tuple[int, tuple[object, ...]], str] = {}
    for index, key in enumerate(values.keys):
        if not key.startswith("parameters_grad."):
            continue
        name = next(names_of(values.owner[index], key))
        for part in values.run.parts[index]:
            numbers = _direction(values.run.records[part.record])
            if numbers:
                known = names.setdefault((part.rank, numbers), name)
                names[part.rank, numbers] = name if known == name else ""
    return names


def _direction(record: Record) -> tuple[object, ...]:
    """What a tensor has in common with all multiples of it: gradients are averaged and clipped."""
    if not fingerprint(record):
        return ()
    cells = [number_of(cell) for cell in (record.Max, record.Min, record.Mean, record.Norm)]
    norm = cells[-1]
    if not np.isfinite(cells).all() or norm <= 0:
        return ()
    return (record.shape, *(round(cell / norm, _DIGITS) for cell in cells[:-1]))


def _by_rank(values: RunValues, start: int, stop: int, keys: Sequence[str]) -> dict[int, Record]:
    parts: list[Part] = []
    for index in range(start, stop):
        if values.keys[index] in keys:
            parts += list(values.run.parts[index])
    return {part.rank: values.run.records[part.record] for part in parts}


def _groups(
    values: RunValues, start: int, stop: int, given: Mapping[int, Record]
) -> Iterator[tuple[int, ...]]:
    """The told groups of a call whose ranks all gave something and lie on one stage."""
    told = {
        tuple(record.group_ranks)
        for index in range(start, stop)
        for record in values.records(index)
        if record.group_ranks
    }
    places = values.run.layout.places
    for group in sorted(told or {tuple(sorted(given))}):
        stages = {places[rank].at.get("pp", 0) for rank in group if rank in places}
        if len(stages) == 1 and len(group) > 1 and given.keys() >= set(group):
            yield group


def _is_sum(given: Sequence[Record], made: Record) -> bool:
    """Whether a result is the sum of what was given, by the sketches, which are linear."""
    numbers = sketches_of([made, *given])
    if numbers is None or not np.isfinite(numbers).all():
        return False
    count = float(np.prod(made.shape or (1,)))
    off = 4 * sum_rounding(len(given), epsilon_of([made.dtype]), count)
    size = float(np.sqrt(np.square(numbers[1:]).sum(axis=1)).sum())
    left = float(np.linalg.norm(numbers[0] - numbers[1:].sum(axis=0)))
    return left <= off * size
