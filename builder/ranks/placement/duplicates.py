"""Ranks that hold one and the same where each should hold something of its own.

Two unlike float tensors agree in all recorded numbers by chance only; what is one number
throughout tells nothing. Which parameters should be unlike, most of their role say.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from builder.dump.values import Record
from builder.ranks.joining.parts import RunValues, fingerprint
from builder.ranks.joining.told import OPTIMIZER, names_of
from builder.ranks.layout.names import role_of
from builder.ranks.placement.copies import are_copies, is_constant
from builder.ranks.placement.mixtures import groups_along

_PEERS = 3  # the fewest that make what is usual


@dataclass(frozen=True, slots=True)
class EqualShares:
    """A parameter of which ranks along an axis hold one share; of most of its role they do not."""

    node: str
    key: str
    axis: str
    ranks: tuple[int, ...]
    peers: int


@dataclass(frozen=True, slots=True)
class EqualLayers:
    """A parameter with the numbers of `other`, one of another layer on another stage."""

    node: str
    key: str
    other: str
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ApartCopies:
    """Two parameters of two stages that one gradient updates, and that are unlike."""

    node: str
    parameter: str
    other: str
    ranks: tuple[int, ...]


def equal_shares(values: RunValues, axis: str) -> Iterator[EqualShares]:
    """The shares that two ranks along an axis have in common, where of most each has its own."""
    roles: defaultdict[str, list[tuple[int, tuple[int, ...]]]] = defaultdict(list)
    for index in _parameters(values):
        groups = list(groups_along(values, index, axis).values())
        if all(len(group) > 1 for group in groups):
            same = tuple(sorted({rank for group in groups for rank in _equal(group)}))
            roles[f"{role_of(values.owner[index])} {values.keys[index]}"].append((index, same))
    for listed in roles.values():
        peers = sum(not same for _, same in listed)
        if peers + 1 < _PEERS or 2 * peers <= len(listed):
            continue
        for index, same in listed:
            if same:
                yield EqualShares(values.owner[index], values.keys[index], axis, same, peers)


def _equal(group: dict[int, Record]) -> list[int]:
    """The ranks that hold what another one holds."""
    known = {rank: r for rank, r in group.items() if fingerprint(r) and not is_constant(r)}
    return [
        rank
        for rank, record in known.items()
        if any(other != rank and are_copies([record, own]) for other, own in known.items())
    ]


def equal_layers(values: RunValues) -> Iterator[EqualLayers]:
    """The parameters of a layer that another stage has as those of another layer.

    Where most layers of a role are alike, they were made as copies of one.
    """
    roles: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for index in _parameters(values):
        owner = values.owner[index]
        roles[f"{role_of(owner)} {values.keys[index]}"].setdefault(_path(owner), index)
    for by_layer in roles.values():
        prints = {index: _prints(values, index) for index in by_layer.values()}
        counts = Counter(prints.values())
        alone = sum(count == 1 for count in counts.values())
        if alone + 1 < _PEERS or 2 * alone < len(prints):
            continue
        yield from _repeated(values, prints)


def _repeated(
    values: RunValues, prints: dict[int, tuple[tuple[object, ...], ...]]
) -> Iterator[EqualLayers]:
    first: dict[tuple[tuple[object, ...], ...], int] = {}
    for index, own in prints.items():
        if not all(own):
            continue
        known = first.setdefault(own, index)
        ranks, others = _ranks(values, index), _ranks(values, known)
        if known != index and not set(ranks) & set(others):
            yield EqualLayers(
                values.owner[index], values.keys[index], _path(values.owner[known]), ranks
            )


def apart_copies(values: RunValues) -> Iterator[ApartCopies]:
    """The parameters of two stages that read one gradient, and so are one, and are unlike."""
    rows: defaultdict[tuple[object, ...], list[tuple[int, int]]] = defaultdict(list)
    for owner, (start, stop) in values.run.dump.ranges.items():
        at = {values.keys[index]: index for index in range(start, stop)}
        if owner.startswith(OPTIMIZER) and {"input.gradient", "parameters.value"} <= at.keys():
            gradient = at["input.gradient"]
            own = _prints(values, gradient)
            if all(own):
                shapes = tuple(record.shape for record in values.records(gradient))
                rows[own, shapes].append((gradient, at["parameters.value"]))
    for listed in rows.values():
        for (first_gradient, first), (gradient, second) in pairwise(listed):
            ranks = _ranks(values, second)
            if set(ranks) & set(_ranks(values, first)):
                continue
            both = zip(values.records(first), values.records(second), strict=True)
            if all(not are_copies(pair) for pair in both):
                owner, other = values.owner[gradient], values.owner[first_gradient]
                names = [next(names_of(name, "input.gradient")) for name in (owner, other)]
                yield ApartCopies(owner, names[0], names[1], ranks)


def _parameters(values: RunValues) -> Iterator[int]:
    for index, key in enumerate(values.keys):
        if key.startswith("parameters.") and not values.owner[index].startswith(OPTIMIZER):
            yield index


def _prints(values: RunValues, index: int) -> tuple[tuple[object, ...], ...]:
    return tuple(fingerprint(record) for record in values.records(index))


def _ranks(values: RunValues, index: int) -> tuple[int, ...]:
    return tuple(sorted({part.rank for part in values.run.parts[index]}))


def _path(owner: str) -> str:
    """An entry without the number of its call."""
    return owner.rpartition(".")[0]
