"""Pairs weights that are one number throughout, as norms and biases of a drawn model are, by place.

Their values tell nothing. Those pair first whose modules read and put out the same numbers: one
program may have the norm in front of a block that the other has at the end of the block before.
Others pair whose modules stand in modules that hold the same other weights. Of several in one such
place those pair whose modules read and put out the nearest numbers, in most layers; where nothing
tells, and either side has as many, they pair in turn.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from math import isfinite, nan
from typing import Literal, Protocol

from builder.match.implementations.modules import layer_of, partner_above, partner_of_above
from builder.match.implementations.parameters import Parameter
from builder.match.implementations.weight_pairs import Side, WeightPair, joined_pairs, whole_pair


class Edges(Protocol):
    """What modules read and put out, by their paths."""

    def apart(self, path: str, other: str) -> float:
        """How far a module of the problem's edges are from one of the benchmark's, in units of
        their norms; infinity where nothing tells.
        """

    def norm(self, side: Literal[0, 1], path: str) -> float:
        """The norm of what a module of the problem (0) or the benchmark (1) puts out, or NaN."""


# So many of one place are held against one another: more of them are all of a program that has no
# modules, where turns tell as much.
_MOST = 64
# Edges of partners are nearer than this: numbers of two unlike values are apart by about 1.
_NEAR = 0.5
# Both edges together of one value in two programs: within what rounding leaves, as of LIKE in
# `parameters`, and so few others have a norm as near.
_SAME, _WINDOW = 0.1, 8

_Place = tuple[str, int, float]  # the module of the benchmark around it, size, and the number
_Number = tuple[int, float]  # how many elements, and the number that each is
_Places = Mapping[_Place, list[Parameter]]


def pair_constants(
    paths: Mapping[str, str], problem: Side, benchmark: Side, edges: Edges
) -> Iterator[WeightPair]:
    """The pairs of constant weights; `paths` are modules that correspond by other weights."""
    partners = frozenset(paths.values())
    ours = _by_place(problem, lambda path: partner_of_above(path, paths))
    theirs = _by_place(benchmark, lambda path: partner_above(path, partners))
    met = list(_that_meet(problem, benchmark, edges))
    yield from (whole_pair(*pair) for pair in met)
    taken = {id(each) for pair in met for each in pair}
    elsewhere = _moved_layers(met, ours, theirs)
    left, right = _left_of(ours, taken, elsewhere), _left_of(theirs, taken, frozenset())
    votes = _votes(ours, theirs, edges)
    for place, several in left.items():
        for one, other in _in_place(several, right.get(place, []), votes):
            taken.update((id(one), id(other)))
            yield whole_pair(one, other)
    yield from _joined_in_places(left, right, (problem, benchmark), taken)


def _that_meet(
    problem: Side, benchmark: Side, edges: Edges
) -> Iterator[tuple[Parameter, Parameter]]:
    """Constants of one number whose modules read and put out the same, the nearest first."""
    theirs: dict[_Number, list[tuple[float, int, Parameter]]] = defaultdict(list)
    for order, (norm, each) in enumerate(_with_norms(benchmark, edges, 1)):
        theirs[_number_of(each)].append((norm, order, each))
    for several in theirs.values():
        several.sort(key=lambda each: each[:2])
    near = []
    for at, (norm, one) in enumerate(_with_norms(problem, edges, 0)):
        several = theirs.get(_number_of(one), [])
        place = bisect_left(several, norm, key=lambda each: each[0])
        for to, (_, _, other) in enumerate(
            islice(several, max(0, place - _WINDOW), place + _WINDOW)
        ):
            if (away := edges.apart(one.module, other.module)) <= _SAME:
                # What has the same name pairs where its module has several constants alike.
                near.append((away, one.name != other.name, at, to, one, other))
    taken: set[int] = set()
    for *_, one, other in sorted(near, key=lambda each: each[:4]):
        if id(one) not in taken and id(other) not in taken:
            taken |= {id(one), id(other)}
            yield one, other


def _with_norms(
    side: Side, edges: Edges, number: Literal[0, 1]
) -> Iterator[tuple[float, Parameter]]:
    for each in side.parameters:
        norm = edges.norm(number, each.module) if each.is_constant else nan
        if isfinite(norm):
            yield norm, each


def _moved_layers(
    met: Sequence[tuple[Parameter, Parameter]], ours: _Places, theirs: _Places
) -> frozenset[str]:
    """The names, layers aside, of what mostly met what stands elsewhere: no place tells of it."""
    around = {id(each): place for side in (ours, theirs) for place in side for each in side[place]}
    votes: Counter[str] = Counter()
    for one, other in met:
        votes[layer_of(one.path)] += 1 if around[id(one)] != around[id(other)] else -1
    return frozenset(name for name, more in votes.items() if more > 0)


def _left_of(places: _Places, taken: set[int], elsewhere: frozenset[str]) -> _Places:
    return {
        place: [p for p in several if id(p) not in taken and layer_of(p.path) not in elsewhere]
        for place, several in places.items()
    }


def _number_of(each: Parameter) -> _Number:
    return each.numbers.size, each.numbers.largest


def _by_place(side: Side, around: Callable[[str], str]) -> dict[_Place, list[Parameter]]:
    found: dict[_Place, list[Parameter]] = defaultdict(list)
    for each in side.parameters:
        if each.is_constant:
            size, number = _number_of(each)
            found[around(each.module), size, number].append(each)
    return found


def _votes(ours: _Places, theirs: _Places, edges: Edges) -> Counter[tuple[str, str]]:
    """How often a weight of one name is nearest to one of another, over all layers."""
    votes: Counter[tuple[str, str]] = Counter()
    for place, several in ours.items():
        others = theirs.get(place, [])
        if not 1 < max(len(several), len(others)) <= _MOST or not others:
            continue
        for one in several:
            away, nearest = min(
                ((edges.apart(one.module, other.module), other) for other in others),
                key=lambda each: (each[0], each[1].name != one.name),
            )
            if away < _NEAR:
                votes[layer_of(one.path), layer_of(nearest.path)] += 1
    return votes


def _in_place(
    ours: Sequence[Parameter], theirs: Sequence[Parameter], votes: Counter[tuple[str, str]]
) -> Iterator[tuple[Parameter, Parameter]]:
    """The pairs of one place, those that most layers vote for first."""
    left, right = list(ours), list(theirs)
    told = sorted(
        (
            (-votes[layer_of(one.path), layer_of(other.path)], at, to, one, other)
            for at, one in enumerate(ours)
            for to, other in enumerate(theirs)
            if votes[layer_of(one.path), layer_of(other.path)]
        ),
        key=lambda each: each[:3],
    )
    for _, _, _, one, other in told:
        if one in left and other in right:
            left.remove(one)
            right.remove(other)
            yield one, other
    if len(left) == len(right):
        yield from zip(left, right)


def _joined_in_places(
    ours: _Places, theirs: _Places, sides: tuple[Side, Side], taken: set[int]
) -> Iterator[WeightPair]:
    """What several constants of one place make up, as biases of projections that are fused."""
    left, right = (_by_module(places, taken) for places in (ours, theirs))
    for around, several in left.items():
        if others := right.get(around):
            yield from joined_pairs(Side(several, sides[0].records), Side(others, sides[1].records))


def _by_module(places: _Places, taken: set[int]) -> dict[str, list[Parameter]]:
    found: dict[str, list[Parameter]] = defaultdict(list)
    for (around, _, _), several in places.items():
        found[around] += [each for each in several if id(each) not in taken]
    return found
